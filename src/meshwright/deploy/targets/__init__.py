"""Targets: the kinds of brokers that plans are deployed on. Nothing else in `deploy` knows a broker product.

To add one, write a package beside `mosquitto` with a `TARGET`, and name it in `TARGETS`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from meshwright.deploy.wiring import TopicLine, Wiring, find_former_topics, folder_of
from meshwright.errors import InputError, first_five
from meshwright.files.schema import HAS_CONTROL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from meshwright.brokers.processes import BrokerKind, Brokers
    from meshwright.deploy.delta import Delta, Step
    from meshwright.deploy.findings import Inspection
    from meshwright.deploy.inventory import Inventory
    from meshwright.deploy.named_trees import NamedTrees
    from meshwright.deploy.observations import Watch
    from meshwright.deploy.settings import BrokerSettings

TARGETS = ("mosquitto",)
"""The names of targets, as options and manifests write them: each is a package here with a `TARGET`."""
DEFAULT_TARGET = "mosquitto"

LINKS, GONE, ACCESS, MOVED, EDITED = "links", "gone", "access", "moved", "edited"
"""Edits of a broker: the topics of links that it dials; only links to brokers that are gone; who may dial it;
its address, passwords, profile or version; and the repair of links that were changed by hand."""
NOTHING, RELOAD, RESTART, START, STOP = "nothing", "reload", "restart", "start", "stop"
"""What a broker does to take over an edit; brokers that join start, and those that leave stop."""


def write_lines(lines: Iterable[str]) -> str:
    """Return the text of a configuration, access list, list of users or unit: nothing else writes one."""
    return "".join(f"{check_line(line)}\n" for line in lines)


def check_line(line: str) -> str:
    """Return a line as it is; so nothing that comes from a manifest, request or file becomes one of its own.

    Raises
    ------
    InputError
        If it holds a control character. Only its first word is shown: the line may hold a password.
    """
    if HAS_CONTROL.search(line):
        word = HAS_CONTROL.split(line)[0].partition(" ")[0]
        raise InputError(
            f"a line of configuration that begins with {word[:40]!r} would hold a control character or a "
            "line break: correct the name, address or password in it"
        )
    return line


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


@dataclass(frozen=True)
class Target:
    """One kind of broker: what it can do, and how its configuration is written and read."""

    name: str
    kind: BrokerKind
    """How to find, start and reload such a broker on this machine."""
    versions: tuple[str, ...]
    """The versions that need different files or steps, the oldest first."""
    reloads_in: frozenset[tuple[str, str]]
    """Profiles and versions in which changed links take effect by a reload."""
    classify: Callable[[str, BrokerSettings], str]
    """Returns what a broker must do for an edit: nothing, reload or restart."""
    links_file: Callable[[BrokerSettings], str]
    """Returns the name of the file that states the links that a broker dials."""
    access_files: tuple[str, ...]
    """Files that a broker reads again without a restart."""
    queues: str
    """Where a broker stores its queues, in its folder."""
    private_files: tuple[str, ...]
    """Files that only their owner may read."""
    secret_files: tuple[str, ...]
    """Files that only their owner may read if there are passwords."""
    broker_files: Callable[[Wiring, Inventory, BrokerSettings, str], dict[str, str]]
    """Returns the texts of the files that configure a broker, by name."""
    unit_files: Callable[[str, BrokerSettings], dict[str, str]]
    """Returns the files that start a broker as a service, by name."""
    shared_files: Callable[[NamedTrees, Wiring, Inventory, BrokerSettings], dict[str, str]]
    """Returns the files for all brokers together, by name."""
    read_links: Callable[[str, Inventory], set[TopicLine]]
    """Reads the topic lines of all links that a file states, ours and others."""
    mask: Callable[[str], str]
    """Returns a text without the passwords in it."""
    check_existing: Callable[[Wiring, Inventory, BrokerSettings], dict[str, list[str]]]
    """Returns, by broker, what its own configuration must provide, and whether it does."""
    lint: Callable[[Iterable[str | Path], Mapping[str, tuple[str, int]]], Inspection]
    """Reads existing configurations, and finds what is wrong with them."""
    watch: Callable[[Brokers, BrokerSettings], Watch]
    """Returns what observes running brokers."""
    restart_seconds: float
    """From the stop of a broker until the links that it dials are up again, on an idle machine."""
    redial_seconds: float
    """From the stop of a broker until those that dial it and stay have dialled it again, at most."""
    capabilities: Capabilities = Capabilities()

    @property
    def product(self) -> str:
        """The name for people."""
        return self.kind.product


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
    target: Target = import_module(f"meshwright.deploy.targets.{name}").TARGET
    return target


def require_capable(wiring: Wiring, settings: BrokerSettings) -> None:
    """Refuse a wiring that brokers of this kind cannot keep, and name the capabilities that they lack.

    Raises
    ------
    InputError
        If a capability is missing.
    """
    from meshwright.filters.mqtt import has_wildcard

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


def federation_files(
    trees: NamedTrees, wiring: Wiring, inventory: Inventory, settings: BrokerSettings
) -> dict[str, str]:
    """Return all files of a federation's folder except its manifest, by their paths in it."""
    target = settings.broker
    files = {
        f"{folder_of(broker)}/{name}": text
        for broker in wiring.order
        for name, text in {
            **target.broker_files(wiring, inventory, settings, broker),
            **target.unit_files(broker, settings),
        }.items()
    }
    return {
        **files,
        "start-order.txt": write_lines(map(folder_of, wiring.order)),
        **target.shared_files(trees, wiring, inventory, settings),
    }


def wave_files(
    wave: Iterable[Step], delta: Delta, inventory: Inventory, settings: BrokerSettings
) -> dict[str, str]:
    """Return the files of a wave, by their paths in the federation's folder."""
    files: dict[str, str] = {}
    for step in wave:
        if step.action != STOP:
            files |= step_files(step, delta, inventory, settings)
    return files


def step_files(step: Step, delta: Delta, inventory: Inventory, settings: BrokerSettings) -> dict[str, str]:
    """Return a broker's files as they must be for a step, by their paths in the federation's folder."""
    bridges = dict(delta.new.bridges)
    if step.bridges is not None:
        bridges = {pair: topics for pair, topics in bridges.items() if pair[0] != step.broker}
        bridges |= {(step.broker, listener): topics for listener, topics in step.bridges.items()}
    wiring = Wiring(delta.new.order, bridges)
    wiring = replace(wiring, former_topics=find_former_topics(delta.old, wiring))
    files = settings.broker.broker_files(wiring, inventory, settings, step.broker)
    if step.bridges is None:
        files.pop(settings.broker.links_file(settings), None)
    if step.action == START:
        files |= settings.broker.unit_files(step.broker, settings)
    return {f"{folder_of(step.broker)}/{name}": text for name, text in files.items()}


def mode_of(name: str, settings: BrokerSettings, *, secured: bool | None = None) -> int:
    """Return the mode of a file: only its owner reads passwords, and others never anything.

    `secured` says whether the files hold passwords, if that is not as in the settings.
    """
    target, file = settings.broker, name.rpartition("/")[2]
    secret = settings.secured if secured is None else secured
    return 0o600 if file in target.private_files or (secret and file in target.secret_files) else 0o640
