"""Orphaned sessions: sessions of removed bridges, which would queue messages for ever unless they are ended.

A durable bridge has a session at each of its ends. A broker ends a session when a client connects with its id
and asks for a clean session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from meshwright.deploy.config.delta import STOP, Step
from meshwright.deploy.config.wiring import client_id, local_client_id
from meshwright.deploy.federation.traffic import client_of

if TYPE_CHECKING:
    from meshwright.deploy.config.delta import Delta
    from meshwright.deploy.config.inventory import Inventory


def orphaned_sessions(delta: Delta, steps: Iterable[Step] | None = None) -> dict[str, list[str]]:
    """Return the sessions of removed bridges, by the brokers that stay and hold them.

    With `steps`, only bridges that these steps remove count. Without durable sessions there are none.
    """
    if not delta.durable:
        return {}
    sessions: dict[str, list[str]] = {}
    acting = {
        step.broker
        for step in (delta.steps if steps is None else steps)
        if step.action == STOP or step.bridges is not None
    }
    for dialler, listener in delta.old.bridges.keys() - delta.new.bridges.keys():
        if dialler in acting:
            sessions.setdefault(listener, []).append(client_id(dialler, listener))
            sessions.setdefault(dialler, []).append(local_client_id(dialler, listener))
    there = set(delta.new.order)
    return {broker: sorted(ids) for broker, ids in sorted(sessions.items()) if broker in there}


def explain_orphaned_sessions(delta: Delta) -> list[str]:
    """Return a line that lists the sessions to end after a delta; no line if there are none."""
    listed = [f"{name} at {broker}" for broker, ids in orphaned_sessions(delta).items() for name in ids]
    if not listed:
        return []
    more = f" and {len(listed) - 5} more" if len(listed) > 5 else ""
    return [
        f"sessions to end, by connecting once with the id and a clean session: {', '.join(listed[:5])}{more}"
    ]


def end_sessions(
    sessions: Mapping[str, Iterable[str]], inventory: Inventory, secret: bytes | None = None
) -> None:
    """End sessions at running brokers."""

    async def end(broker: str, session: str) -> None:
        async with client_of(broker, inventory.endpoints[broker], session, secret, clean_session=True):
            pass

    async def end_all() -> None:
        await asyncio.gather(*(end(broker, session) for broker, ids in sessions.items() for session in ids))

    if sessions:
        asyncio.run(end_all())
