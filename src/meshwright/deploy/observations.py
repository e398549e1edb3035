"""What shows that a change has taken effect: links that are up or gone, filters carried, a new revision.

Each target knows how to see these in its brokers, so nothing waits by sleeping.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple, Protocol

from meshwright.deploy.delta import Delta, Step
from meshwright.deploy.targets import RELOAD, RESTART, START
from meshwright.deploy.wiring import OUT, Wiring, find_former_topics

LISTENING, REVISION = "listening", "revision"
LINK_UP, LINK_GONE = "link up", "link gone"
FILTER_CARRIED, FILTER_DROPPED = "filter carried", "filter dropped"


class Observation(NamedTuple):
    """Something that a broker shows."""

    kind: str
    link: tuple[str, str] | None = None
    """The dialler and the listener of a link, which the listener shows."""
    what: str = ""
    """The filter, or the port of a broker that listens."""


class Watch(Protocol):
    """Observes running brokers."""

    def positions(self, brokers: Iterable[str]) -> dict[str, int]:
        """Return how far brokers have been observed; later observations come after that."""

    def wait(
        self,
        wanted: Mapping[str, set[Observation]],
        since: Mapping[str, int],
        *,
        seconds: float = 30.0,
        while_waiting: Callable[[], None] | None = None,
    ) -> dict[tuple[str, Observation], float]:
        """Wait until each broker has shown all that is wanted since its position, or raise an InputError.

        `while_waiting` is called between two looks. Returns when each broker showed what.
        """


def links_up(wiring: Wiring, pairs: Iterable[tuple[str, str]]) -> dict[str, set[Observation]]:
    """Return what listeners show once these links are up: each filter that they take, or the link itself.

    A link that only sends takes no filter from its listener; then its connection counts.
    """
    wanted: dict[str, set[Observation]] = {}
    for pair in pairs:
        topics = [topic for topic, direction in wiring.bridges[pair].items() if direction != OUT]
        seen = {Observation(FILTER_CARRIED, pair, topic) for topic in topics}
        wanted.setdefault(pair[1], set()).update(seen or {Observation(LINK_UP, pair)})
    return wanted


def expected_observations(
    steps: Iterable[Step], delta: Delta, running: Collection[str]
) -> dict[str, set[Observation]]:
    """Return what each broker shows once a wave has taken effect; the next wave waits for it.

    - A broker that starts: its links are up at their listeners.
    - A broker that restarts: so are the links of its diallers.
    - A broker that reloads: it has the new revision, and its changed links come up or go.
    """
    wanted: dict[str, set[Observation]] = {}

    def expect(found: dict[str, set[Observation]]) -> None:
        for broker, observations in found.items():
            wanted.setdefault(broker, set()).update(observations)

    acting = {step.broker: step for step in steps if step.action in (START, RESTART, RELOAD)}
    unchanged = _unchanged_links(delta)
    for broker, step in acting.items():
        dialled = dict(step.bridges or {})
        if step.action == RELOAD:
            expect({broker: {Observation(REVISION)}})
            changed = step.changed_listeners
            # A listener that starts in this wave has forgotten the link and does not show its end.
            lost = [other for other in changed - dialled.keys() if _keeps_running(other, acting)]
            expect({other: {Observation(LINK_GONE, (broker, other))} for other in lost})
            dialled = {other: topics for other, topics in dialled.items() if other in changed}
        own = Wiring(delta.new.order, {(broker, other): topics for other, topics in dialled.items()})
        expect(links_up(own, own.bridges))
        if delta.durable:
            # A link unsubscribes from each topic that it no longer carries.
            for pair, topics in find_former_topics(delta.old, own).items():
                if pair in own.bridges:
                    expect({pair[1]: {Observation(FILTER_DROPPED, pair, topic) for topic in topics}})
        # The diallers of a broker that restarts reconnect by themselves, with their current topics. If its
        # address or password changed, they reconnect in their own step instead.
        if step.action == RESTART and broker not in delta.must_restart:
            diallers = unchanged.dialled_to(broker)
            pairs = [
                (other, broker) for other in diallers if other in running and _keeps_running(other, acting)
            ]
            expect(links_up(unchanged, pairs))
    return wanted


def _keeps_running(broker: str, acting: dict[str, Step]) -> bool:
    """Return whether a broker keeps its process and its links during a wave."""
    return broker not in acting or (acting[broker].action == RELOAD and acting[broker].bridges is None)


def _unchanged_links(delta: Delta) -> Wiring:
    """Return the topic lines of both wirings: they exist before, between and after all waves."""
    bridges = {
        pair: {
            topic: way for topic, way in topics.items() if delta.new.bridges.get(pair, {}).get(topic) == way
        }
        for pair, topics in delta.old.bridges.items()
    }
    return Wiring(delta.old.order, {pair: topics for pair, topics in bridges.items() if topics})
