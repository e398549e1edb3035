"""Targets: the kinds of brokers that plans are deployed on. Nothing else in `deploy` knows a broker product.

To add one, write a package beside `mosquitto` with a class that has what `Target` lists, and name it in
`TARGETS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from meshwright.errors import InputError, first_five

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from meshwright.brokers.processes import BrokerKind, Brokers
    from meshwright.deploy.delta import TopicLine
    from meshwright.deploy.findings import Inspection
    from meshwright.deploy.inventory import Inventory
    from meshwright.deploy.named_trees import NamedTrees
    from meshwright.deploy.observations import Watch
    from meshwright.deploy.settings import BrokerSettings
    from meshwright.deploy.wiring import Wiring

TARGETS = {"mosquitto": "Mosquitto"}
"""Each target by name, as options and manifests write it: the package of that name here, and its class."""
DEFAULT_TARGET = "mosquitto"

LINKS, GONE, ACCESS, MOVED, EDITED = "links", "gone", "access", "moved", "edited"
"""Edits of a broker: the topics of links that it dials; only links to brokers that are gone; who may dial it;
its address, passwords, profile or version; and the repair of links that were changed by hand."""
NOTHING, RELOAD, RESTART, START, STOP = "nothing", "reload", "restart", "start", "stop"
"""What a broker does to take over an edit; brokers that join start, and those that leave stop."""


@dataclass(frozen=True)
class Capabilities:
    """What the links between brokers of a kind can do."""

    directions: frozenset[str] = frozenset({"both", "out", "in"})
    """Directions in which one link carries a topic, as its dialler sees them."""
    wildcards: bool = True
    no_local: bool = True
    """Whether a broker does not send a message back over the link that it came from."""
    durable: bool = True
    """Whether messages queue at both ends while a link is down."""
    longest_filter: int = 65_535
    """Bytes of the longest filter that a link carries."""


class Target(Protocol):
    """One kind of broker: what it can do, and how its configuration is written and read."""

    name: str
    product: str
    """The name for people."""
    versions: tuple[str, ...]
    """The versions that need different files or steps, the oldest first."""
    capabilities: Capabilities
    access_files: tuple[str, ...]
    """Files that a broker reads again without a restart."""
    queues: str
    """Where a broker stores its queues, in its folder."""

    def reloads(self, settings: BrokerSettings) -> bool:
        """Return whether changed links take effect by a reload."""

    def classify(self, edit: str, settings: BrokerSettings) -> str:
        """Return what a broker must do for an edit: nothing, reload or restart."""

    def links_file(self, settings: BrokerSettings) -> str:
        """Return the name of the file that states the links that a broker dials."""

    def is_private(self, file: str, *, secured: bool) -> bool:
        """Return whether only its owner may read a file; others hold no passwords."""

    def broker_files(
        self, wiring: Wiring, inventory: Inventory, settings: BrokerSettings, broker: str
    ) -> dict[str, str]:
        """Return the texts of the files that configure a broker, by name."""

    def unit_files(self, broker: str, settings: BrokerSettings) -> dict[str, str]:
        """Return the files that start a broker as a service, by name."""

    def shared_files(
        self, trees: NamedTrees, wiring: Wiring, inventory: Inventory, settings: BrokerSettings
    ) -> dict[str, str]:
        """Return the files for all brokers together, by name."""

    def read_links(self, text: str, inventory: Inventory) -> set[TopicLine]:
        """Read the topic lines of all links that a file states, ours and others."""

    def mask(self, text: str) -> str:
        """Return a text without the passwords in it."""

    def check_existing(
        self, wiring: Wiring, inventory: Inventory, settings: BrokerSettings
    ) -> dict[str, list[str]]:
        """Return, by broker, what its own configuration must provide, and whether it does."""

    def lint(self, configurations: Iterable[str | Path], hosts: Mapping[str, tuple[str, int]]) -> Inspection:
        """Read existing configurations, and find what is wrong with them."""

    def watch(self, brokers: Brokers, settings: BrokerSettings) -> Watch:
        """Return what observes running brokers."""

    @property
    def kind(self) -> BrokerKind:
        """How to find, start and reload such a broker on this machine."""


@cache
def load_target(name: str) -> Target:
    """Return a target.

    Raises
    ------
    InputError
        If there is none of this name.
    """
    if name not in TARGETS:
        raise InputError(f"no target {name!r}: choose one of {', '.join(TARGETS)}")
    module = import_module(f"meshwright.deploy.targets.{name}")
    target: Target = getattr(module, TARGETS[name])()
    return target


def require_capable(wiring: Wiring, settings: BrokerSettings) -> None:
    """Refuse a wiring that brokers of this kind cannot keep, and name the capabilities that they lack.

    Raises
    ------
    InputError
        If a capability is missing.
    """
    from meshwright.filters import has_wildcard

    can = settings.broker.capabilities
    lines = {line for topics in wiring.bridges.values() for line in topics.items()}
    topics = sorted({topic for topic, _ in lines})
    ways = {way for _, way in lines}
    wild = [] if can.wildcards else [topic for topic in topics if has_wildcard(topic)]
    long = [topic[:40] for topic in topics if len(topic.encode()) > can.longest_filter]
    lacking = [
        *(["durable: queues while a link is down"] if settings.durable and not can.durable else []),
        *([f"directions: {first_five(sorted(ways - can.directions))}"] if ways - can.directions else []),
        *(["no_local: a link in both directions"] if "both" in ways and not can.no_local else []),
        *([f"wildcards: {first_five(wild)}"] if wild else []),
        *([f"longest_filter: more than {can.longest_filter} bytes, as {first_five(long)}"] if long else []),
    ]
    if lacking:
        raise InputError(
            f"{settings.broker.product} cannot keep this plan, it lacks {'; '.join(lacking)}: "
            "choose another target, or a plan that does without"
        )
