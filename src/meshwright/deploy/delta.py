"""The delta between two wirings: the steps that each broker takes, and what they mean for messages.

A durable link has a session at each end. When the link is removed, these sessions are orphaned: they queue
messages for ever. A session ends when a client connects with its id and asks for a clean session.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from msgspec import Meta

from meshwright.deploy.targets import RELOAD, RESTART, START, STOP
from meshwright.deploy.wiring import (
    Direction,
    TopicLine,
    Wiring,
    bridge_identity,
    client_id,
    local_client_id,
)
from meshwright.files.schema import END, Filter, Line
from meshwright.formatting import counted

if TYPE_CHECKING:
    from meshwright.deploy.targets import Target

SHOWN_CUTS = 5
"""Topics that are shown with the time for which they are cut."""


def name_lines(lines: Sequence[TopicLine]) -> str:
    """Name the first three lines, and how many more there are."""
    shown = ", ".join(f"{topic} ↔ {listener}" for listener, topic, _ in lines[:3])
    return shown + (f" and {len(lines) - 3} more" if len(lines) > 3 else "")


Action: TypeAlias = Annotated[
    str,
    Meta(
        pattern=f"^(?:{RELOAD}|{RESTART}|{START}|{STOP}){END}", description="reload, restart, start or stop"
    ),
]


@dataclass(frozen=True)
class Step:
    """One action on one broker, and the bridges that the broker dials afterwards."""

    action: Action
    broker: Line
    removed: tuple[TopicLine, ...] = ()
    added: tuple[TopicLine, ...] = ()
    bridges: Mapping[Line, Mapping[Filter, Direction]] | None = None
    """The topics of each bridge by listener; None if only passwords and access lists change."""

    @property
    def changed_listeners(self) -> set[str]:
        """The listeners of the bridges that this step changes."""
        return {listener for listener, _, _ in (*self.removed, *self.added)}

    def __str__(self) -> str:
        parts = [f"{self.action} {self.broker}"]
        for word, lines in (("without", self.removed), ("with", self.added)):
            if lines:
                parts.append(f"{word} {name_lines(lines)}")
        if self.bridges is None and self.action == RELOAD:
            parts.append("for changed passwords and access")
        return "; ".join(parts)


@dataclass(frozen=True)
class Delta:
    """The steps from one wiring to another, in waves: the steps of a wave run together."""

    old: Wiring
    new: Wiring
    waves: tuple[tuple[Step, ...], ...]
    no_action: tuple[str, ...]
    """Brokers whose files change without an action: they lose only bridges to brokers that are gone."""
    must_restart: frozenset[str] = frozenset()
    """Brokers that restart even if their bridges stay; diallers reach them only after their own step."""
    durable: bool = False
    """Whether sessions are durable, so that messages queue for a broker that restarts."""

    @property
    def steps(self) -> list[Step]:
        """All steps, in order."""
        return [step for wave in self.waves for step in wave]

    @property
    def restarts(self) -> list[str]:
        """Brokers that restart and disconnect their clients for a moment."""
        return sorted({step.broker for step in self.steps if step.action == RESTART})

    @property
    def affected_topics(self) -> set[str]:
        """Topics that may lose messages: their tree changes, or a broker of it restarts or stops."""
        return set().union(*(self.affected_by(wave) for wave in self.waves))

    @property
    def interrupted_links(self) -> frozenset[frozenset[str]]:
        """Existing links that a reload interrupts: messages on the way there may be lost."""
        return frozenset(
            frozenset((step.broker, listener))
            for step in self.steps
            if step.action == RELOAD
            for listener in step.changed_listeners
            if (step.broker, listener) in self.old.bridges
        )

    def affected_by(self, wave: Iterable[Step]) -> set[str]:
        """Return the topics that may lose messages during a wave."""
        topics: set[str] = set()
        for step in wave:
            topics |= {topic for _, topic, _ in (*step.removed, *step.added)}
            for wiring in (self.old, self.new):
                dialled = wiring.dialled_by(step.broker)
                if step.action == RELOAD:
                    # A changed bridge starts again, with the topics that it keeps.
                    interrupted = [dialled.get(listener, {}) for listener in step.changed_listeners]
                elif step.action in (RESTART, STOP):
                    interrupted = [*dialled.values(), *wiring.dialled_to(step.broker).values()]
                else:
                    interrupted = []
                topics.update(topic for bridge in interrupted for topic in bridge)
        return topics

    def cut_by(self, wave: Iterable[Step]) -> set[str]:
        """Return the topics that a wave cuts for brokers that have them: a broker that joins cuts none."""
        return self.affected_by(step for step in wave if step.action != START)

    def estimate_cut(self, target: Target, done: int = 0) -> dict[str, float]:
        """Estimate for how many seconds each topic is cut by the waves that are left.

        A wave cuts the links that its brokers dial until they have restarted; those that others dial to them,
        and those that come back after a reload, until they are dialled again. A topic that several waves cut
        is cut from the first of them to the last.
        """
        restart, redial = target.restart_seconds, target.redial_seconds
        cut: dict[str, float] = {}
        between: dict[str, float] = {}
        for wave in self.waves[done:]:
            acting = {step.broker for step in wave if step.action != RELOAD}
            slow: set[str] = set()
            for step in wave:
                if step.action == RELOAD:
                    slow |= self.cut_by([step])
                for wiring in (self.old, self.new) if step.action == RESTART else ():
                    diallers = wiring.dialled_to(step.broker)
                    slow.update(topic for other in diallers.keys() - acting for topic in diallers[other])
            for topic in self.cut_by(wave):
                cut[topic] = between.get(topic, 0.0) + (redial if topic in slow else restart)
                between[topic] = cut[topic]
            between = {
                topic: seconds if topic in self.cut_by(wave) else seconds + restart
                for topic, seconds in between.items()
            }
        return {topic: round(cut[topic], 1) for topic in sorted(cut)}

    def to_dict(self) -> dict[str, Any]:
        """Return the delta for a JSON answer."""
        return {
            "waves": [
                [
                    {
                        "action": step.action,
                        "broker": step.broker,
                        "removed": [list(line) for line in step.removed],
                        "added": [list(line) for line in step.added],
                    }
                    for step in wave
                ]
                for wave in self.waves
            ],
            "restarts": self.restarts,
            "quiet": list(self.no_action),
            "touched_topics": len(self.affected_topics),
        }


def explain_delta(delta: Delta, done: int = 0) -> Sequence[str]:
    """Return lines that explain a delta to the person who is about to apply it, after its first waves."""
    delta = replace(delta, waves=delta.waves[done:])
    if not delta.steps and not delta.no_action:
        return ["nothing changes"]
    lines = []
    for number, wave in enumerate(delta.waves, start=done + 1):
        lines.append(f"wave {number}:")
        lines += [f"  {step}" for step in wave]
    if delta.no_action:
        shown = ", ".join(delta.no_action[:5]) + (" …" if len(delta.no_action) > 5 else "")
        lines.append(
            f"no action: {shown}; until they restart, they dial brokers that are gone, which is harmless"
        )
    topics = counted(len(delta.affected_topics), "topic")
    if delta.restarts:
        losses = (
            f"{'is' if len(delta.affected_topics) == 1 else 'are'} affected; where their trees stay, "
            "messages queue"
            if delta.durable
            else "may lose messages meanwhile"
        )
        brokers = counted(len(delta.restarts), "broker")
        lines.append(f"clients of {brokers} are disconnected for a moment; {topics} {losses}")
    elif delta.interrupted_links:
        lines.append(f"no client is disconnected; {topics} may lose messages meanwhile")
    return lines


def explain_cut(delta: Delta, target: Target, done: int = 0) -> list[str]:
    """Return lines about the topics that the waves that are left cut, for how long, and why."""
    cut = delta.estimate_cut(target, done)
    lines = name_cuts(cut, "cut for about")
    if cut and max(cut.values()) >= target.redial_seconds:
        lines.append(
            f"{target.product} dials a broker that restarted again after up to {target.redial_seconds:g} s: "
            "only links that the restarted broker dials are back earlier"
        )
    changed = {
        topic for step in delta.steps if step.action != START for _, topic, _ in (*step.removed, *step.added)
    }
    if delta.durable and changed & cut.keys():
        lines.append(
            f"{counted(len(changed & cut.keys()), 'topic')} may lose messages: {target.product} does not "
            "queue for a link before it has had it, and a removed link takes its queue along"
        )
    return lines


def name_cuts(cut: Mapping[str, float], how: str) -> list[str]:
    """Return a line that names topics and the seconds of each, the longest first; no line without topics."""
    ordered = sorted(cut, key=lambda topic: (-cut[topic], topic))
    shown = ", ".join(f"{topic} {cut[topic]:.1f} s" for topic in ordered[:SHOWN_CUTS])
    more = f" and {len(cut) - SHOWN_CUTS} more" if len(cut) > SHOWN_CUTS else ""
    return [f"{counted(len(cut), 'topic')} {how}: {shown}{more}"] if cut else []


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


def explain_orphaned_sessions(delta: Delta, identity: str | None = None) -> list[str]:
    """Return a line that lists the sessions to end after a delta; no line if there are none."""
    listed = [
        f"{bridge_identity(identity, name)} at {broker}"
        for broker, ids in orphaned_sessions(delta).items()
        for name in ids
    ]
    if not listed:
        return []
    more = f" and {len(listed) - 5} more" if len(listed) > 5 else ""
    return [
        f"sessions to end, by connecting once with the id and a clean session: {', '.join(listed[:5])}{more}"
    ]
