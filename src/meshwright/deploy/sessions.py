"""Sessions that outlive their bridge: ended, else a broker queues for ever what nobody will fetch.

Where sessions last, a bridge has one at each of its ends. A broker ends one when somebody connects by its
id and asks for a clean session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from meshwright.deploy.access import CLIENT, client_password
from meshwright.deploy.delta import STOP, Step
from meshwright.deploy.traffic import QUIET, mqtt
from meshwright.deploy.wiring import client_id, local_id

if TYPE_CHECKING:
    from meshwright.deploy.delta import Delta
    from meshwright.deploy.inventory import Inventory


def outlived(steps: Iterable[Step], found: Delta) -> dict[str, list[str]]:
    """Return the sessions that nobody will come back to after these steps, by the brokers that keep them."""
    sessions: dict[str, list[str]] = {}
    for step in steps:
        if step.action != STOP and step.bridges is None:
            continue
        for other in found.old.dialled_by(step.broker).keys() - (step.bridges or {}).keys():
            sessions.setdefault(other, []).append(client_id(step.broker, other))
            sessions.setdefault(step.broker, []).append(local_id(step.broker, other))
    gone = {step.broker for step in found.steps if step.action == STOP}
    return {broker: sorted(ids) for broker, ids in sorted(sessions.items()) if broker not in gone}


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
