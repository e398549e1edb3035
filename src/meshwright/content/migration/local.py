"""Running a world in virtual time, on links in one process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from meshwright.content.migration.links import Links
from meshwright.content.migration.virtual import VirtualLoop
from meshwright.content.migration.world import DELAYING, World, derived

LOOK = 0.05
"""So often it is looked whether all is over."""


def run_local(world: World, seed: int, tick: Callable[[float, int], None]) -> Links:
    """Run a world to its end or its time limit, and return the links; `tick` is called now and then."""
    loop = VirtualLoop()
    failure: list[BaseException] = []

    def failed(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        failure.append(context.get("exception") or RuntimeError(context["message"]))
        loop.stop()

    loop.set_exception_handler(failed)
    links = Links(loop, world.terms.delay, derived(seed, DELAYING), world.seen)
    try:
        loop.run_until_complete(_watched(world, links, loop, tick))
    except RuntimeError as error:
        raise (failure[0] if failure else error) from error
    finally:
        loop.close()
    return links


async def _watched(
    world: World, links: Links, loop: asyncio.AbstractEventLoop, tick: Callable[[float, int], None]
) -> None:
    world.populate(links)
    due = world.due()

    def next_one() -> None:
        for time, happen in due:
            if time > loop.time():
                loop.call_at(time, step, happen)
                return
            happen()

    def step(happen: Callable[[], None]) -> None:
        happen()
        next_one()

    next_one()
    while not world.over and loop.time() < world.terms.limit:
        await asyncio.sleep(LOOK)
        tick(loop.time(), links.counts.total())
    # Whatever is still on its way may only be what everybody has.
    await asyncio.sleep(4 * world.terms.delay[1] + 2 * world.terms.gather)
    tick(loop.time(), links.counts.total())
