"""Exposure: what a federation beyond this machine lets others do, and what is refused unless asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshwright.errors import InputError, first_five

if TYPE_CHECKING:
    from meshwright.deploy.config.inventory import Inventory
    from meshwright.deploy.config.settings import BrokerSettings


def exposures(inventory: Inventory, settings: BrokerSettings) -> list[str]:
    """Return what is open to everybody who reaches the brokers over a network; empty if nothing is."""
    beyond = {name: endpoint for name, endpoint in inventory.endpoints.items() if not endpoint.loopback}
    bare = sorted(name for name, endpoint in beyond.items() if not endpoint.tls)
    if settings.fragment:
        # What brokers let others do is in their own configuration; the passwords of bridges are ours.
        named = [name for name in bare if beyond[name].user is not None]
        where = f"brokers {first_five(named)} get the passwords of bridges in clear text"
        return [f"{where}, since they have no TLS"] if named else []
    found = []
    if beyond and settings.secret is None:
        found.append(
            f"brokers {first_five(sorted(beyond))} take messages from everybody, since there is no --secret"
        )
    if bare and settings.secret is not None:
        found.append(f"brokers {first_five(bare)} get passwords in clear text, since they have no TLS")
    if bare and settings.secret is None:
        found.append(
            f"messages at brokers {first_five(bare)} can be read and changed, since they have no TLS"
        )
    return found


def require_protected(inventory: Inventory, settings: BrokerSettings, *, insecure: bool) -> list[str]:
    """Refuse a federation that is open beyond this machine, unless that is wanted; return what is open.

    Raises
    ------
    InputError
        If something is open and `insecure` is false.
    """
    found = exposures(inventory, settings)
    if found and not insecure:
        raise InputError(
            f"{'; '.join(found)}: give --secret, and tls in the inventory, or accept this with --insecure"
        )
    return [f"INSECURE: {line}" for line in found]
