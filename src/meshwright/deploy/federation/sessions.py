"""Sessions that outlive their bridge: ended, else a broker queues for ever what nobody will fetch.

Where sessions last, a bridge has one at each of its ends. A broker ends one when somebody connects by its
id and asks for a clean session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from meshwright.deploy.config.access import CLIENT, client_password
from meshwright.deploy.config.delta import STOP, Step
from meshwright.deploy.config.wiring import client_id, local_id
from meshwright.deploy.federation.traffic import QUIET, mqtt

if TYPE_CHECKING:
    from meshwright.deploy.config.delta import Delta
    from meshwright.deploy.config.inventory import Inventory


def outlived(found: Delta, steps: Iterable[Step] | None = None) -> dict[str, list[str]]:
    """Return the sessions of bridges that go, by the brokers that keep them and stay.

    With `steps`, of bridges that go by these. There are none unless sessions last.
    """
    sessions: dict[str, list[str]] = {}
    acting = {
        step.broker
        for step in (found.steps if steps is None else steps)
        if step.action == STOP or step.bridges is not None
    }
    for pair in found.old.bridges.keys() - found.new.bridges.keys() if found.durable else ():
        if pair[0] in acting:
            sessions.setdefault(pair[1], []).append(client_id(*pair))
            sessions.setdefault(pair[0], []).append(local_id(*pair))
    there = set(found.new.order)
    return {broker: sorted(names) for broker, names in sorted(sessions.items()) if broker in there}


def told_outlived(found: Delta) -> list[str]:
    """Spell which sessions are to be ended once a delta is applied."""
    sessions = outlived(found)
    if not sessions:
        return []
    listed = [f"{name} at {broker}" for broker, names in sessions.items() for name in names]
    more = f" and {len(listed) - 5} more" if len(listed) > 5 else ""
    return [
        f"sessions to end, by connecting once with the id and a clean session: {', '.join(listed[:5])}{more}"
    ]


def end_sessions(
    sessions: Mapping[str, Iterable[str]], inventory: Inventory, secret: bytes | None = None
) -> None:
    """End sessions at brokers that run."""

    async def end(broker: str, name: str) -> None:
        place = inventory.places[broker]
        secured = {"username": CLIENT, "password": client_password(secret or b"", broker)}
        async with mqtt().Client(
            place.host,
            place.port,
            identifier=name,
            clean_session=True,
            logger=QUIET,
            **({} if secret is None else secured),
        ):
            pass

    async def end_all() -> None:
        await asyncio.gather(*(end(broker, name) for broker, names in sessions.items() for name in names))

    if sessions:
        asyncio.run(end_all())
