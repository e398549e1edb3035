"""Settings that an operator chooses for all brokers of a federation: their kind and version, profile, secret.

Settings that would leave brokers open beyond this machine are refused unless the operator accepts that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from meshwright.deploy.inventory import Inventory
from meshwright.deploy.passwords import SHORTEST_SECRET, derive, fingerprint, read_secret
from meshwright.deploy.targets import DEFAULT_TARGET, Target, load_target
from meshwright.errors import InputError, first_five

PROFILES = ("plain", "durable")


@dataclass(frozen=True)
class BrokerSettings:
    """How all brokers of a federation are set up."""

    profile: str = "plain"
    """`plain`: exactly once while links are up. `durable`: while a link is down or a broker restarts,
    messages queue at both ends."""
    version: str = ""
    """The oldest version of the brokers in use; by default the oldest that the target knows."""
    secret: bytes | None = None
    """Passwords and access lists are derived from it; None for a federation without them."""
    identity: str | None = None
    """The key of the bridges' ids, if it is not that of the secret: ids outlive a change of the secret, as
    the sessions do that carry them."""
    fragment: bool = False
    """Whether brokers have a configuration of their own, which includes a file with the bridges only."""
    fingerprint: str | None = None
    """Identifies the secret, also where the secret itself is unknown; None for a federation without it."""
    target: str = DEFAULT_TARGET
    """The kind of brokers."""

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise InputError(f"no profile {self.profile!r}: choose one of {', '.join(PROFILES)}")
        known = self.broker.versions
        if not self.version:
            object.__setattr__(self, "version", known[0])
        if self.version not in known:
            raise InputError(f"no {self.broker.product} {self.version!r}: choose one of {', '.join(known)}")
        if self.fragment and self.secret is not None:
            raise InputError(
                "a fragment has no passwords of its own: omit the secret, and give users in the inventory"
            )
        if self.secret is not None and len(self.secret) < SHORTEST_SECRET:
            raise InputError(
                f"the secret is shorter than {SHORTEST_SECRET} bytes: make one with openssl rand -hex 32"
            )
        if self.secret is not None:
            object.__setattr__(self, "fingerprint", fingerprint(self.secret))

    def changed(
        self, profile: str | None = None, version: str | None = None, secret: str | Path | None = None
    ) -> BrokerSettings:
        """Return the settings with another profile, version or file with a secret, where one is given."""
        word = self.secret if secret is None else read_secret(Path(secret))
        return replace(self, profile=profile or self.profile, version=version or self.version, secret=word)

    @property
    def broker(self) -> Target:
        """What the brokers can do, and how they are configured."""
        return load_target(self.target)

    @property
    def identity_key(self) -> str | None:
        """The key that the ids of bridges are derived from, or None without passwords."""
        if self.identity is not None or self.secret is None:
            return self.identity
        return derive(self.secret, "identity", "").hex()

    @property
    def secured(self) -> bool:
        """Whether there are passwords and access lists."""
        return self.fingerprint is not None

    @property
    def durable(self) -> bool:
        """Whether brokers keep sessions, and the messages queued in them, while the other end is away."""
        return self.profile == "durable"

    @property
    def reloads(self) -> bool:
        """Whether links change by a reload."""
        return (self.profile, self.version) in self.broker.reloads_in

    @property
    def qos(self) -> int:
        """The quality of service of bridges: 2 in durable sessions, where QoS 1 repeats queued messages."""
        return 2 if self.durable else 1


def exposures(inventory: Inventory, settings: BrokerSettings) -> list[str]:
    """Return what is open to everybody who reaches the brokers over a network; empty if nothing is."""
    beyond = {name: endpoint for name, endpoint in inventory.endpoints.items() if not endpoint.loopback}
    bare = sorted(name for name, endpoint in beyond.items() if not endpoint.tls)
    if settings.fragment:
        # What brokers let others do is in their own configuration; the passwords of bridges are ours.
        names = [name for name in bare if beyond[name].user is not None]
        bare = [name for name in bare if beyond[name].user is None]
        what = "get the passwords of bridges in clear text, since they have no TLS"
    elif settings.secret is None:
        names, what = sorted(beyond), "take messages from everybody, since there is no --secret"
    else:
        names, what = bare, "get passwords in clear text, since they have no TLS"
    found = [f"brokers {first_five(names)} {what}"] if names else []
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
