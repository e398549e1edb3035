"""The delta between two wirings: what changes on which broker, in which order, and by which action.

- For each topic, or group of filters that overlap, removals happen before additions: the other order makes a
  loop for a moment, and messages arrive twice.
- A broker that joins dials all its neighbours, so no other broker acts.
- Mosquitto 2.0 loads changed bridges when the dialling broker restarts. 2.1 loads them on a reload: no client
  is disconnected, and only changed bridges are interrupted. But after a reload a durable bridge has lost the
  messages queued at its dialler, so with durable sessions 2.1 restarts too.
- A bridge to a broker that is gone does no harm. It leaves the configuration file now and disappears with the
  next restart or reload. With durable sessions it would queue messages for ever, so its dialler acts at once.
- A durable bridge has a session at each end. When the bridge is removed, these sessions are orphaned: they
  queue messages for ever. A session ends when a client connects with its id and asks for a clean session.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from meshwright.deploy.wiring import LOCAL, Wiring, client_id, local_client_id
from meshwright.filters import has_wildcard, overlap_groups
from meshwright.formatting import counted

if TYPE_CHECKING:
    from typing import TypeAlias

    from meshwright.deploy.drift import BrokerDrift

    TopicLine: TypeAlias = tuple[str, str, str]
    """A line of a bridge: its listener, the topic, and the direction."""

STOP, START, RESTART, RELOAD = "stop", "start", "restart", "reload"


@dataclass(frozen=True)
class Step:
    """One action on one broker, and the bridges that the broker dials afterwards."""

    action: str
    broker: str
    removed: tuple[TopicLine, ...] = ()
    added: tuple[TopicLine, ...] = ()
    bridges: Mapping[str, Mapping[str, str]] | None = None
    """The topics of each bridge by listener; None if only passwords and access lists change."""

    @property
    def changed_listeners(self) -> set[str]:
        """The listeners of the bridges that this step changes."""
        return {listener for listener, _, _ in (*self.removed, *self.added)}

    def __str__(self) -> str:
        parts = [f"{self.action} {self.broker}"]
        for word, lines in (("without", self.removed), ("with", self.added)):
            if lines:
                shown = ", ".join(f"{topic} ↔ {listener}" for listener, topic, _ in lines[:3])
                parts.append(f"{word} {shown}" + (f" and {len(lines) - 3} more" if len(lines) > 3 else ""))
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


def compute_delta(
    old: Wiring,
    new: Wiring,
    *,
    version: str = "2.0",
    secured: bool = False,
    must_restart: Collection[str] = (),
    durable: bool = False,
    drift: Mapping[str, BrokerDrift] | None = None,
) -> Delta:
    """Compute the steps from one wiring to another; `new` must keep the order of the brokers that stay.

    Brokers in `must_restart`, such as those with another address or password, act before their diallers.
    With `secured`, brokers first load the passwords and access lists of their new diallers. Before everything
    else, `drift` is repaired.
    """
    here, there = set(old.order), set(new.order)
    waves = _repair_waves(old, there, drift or {})
    waves += [tuple(Step(STOP, broker) for broker in old.order if broker not in there)]
    changes: dict[str, tuple[set[TopicLine], set[TopicLine]]] = {}
    no_action = []
    for broker in new.order:
        before = _topic_lines(old, broker) if broker in here else set()
        after = _topic_lines(new, broker)
        removed = {line for line in before - after if line[0] in there}
        added = {line for line in after if line not in before or line[0] in must_restart}
        joins = broker not in here
        if removed or added or joins or broker in must_restart or (durable and before - after):
            changes[broker] = (removed, added)
        elif before - after:
            no_action.append(broker)
    if secured:
        waves.append(
            tuple(
                Step(RELOAD, broker)
                for broker in new.order
                if broker in here - set(must_restart) and old.dialled_to(broker) != new.dialled_to(broker)
            )
        )
    action = RELOAD if version == "2.1" and not durable else RESTART
    waves += _order_changes(old, new, changes, action, must_restart)
    waves = [wave for wave in waves if wave]
    return Delta(old, new, tuple(waves), tuple(no_action), frozenset(must_restart), durable)


def _repair_waves(
    old: Wiring, there: Collection[str], drift: Mapping[str, BrokerDrift]
) -> list[tuple[Step, ...]]:
    """Return the waves that repair changes by hand: first all added lines go, then lost ones return."""
    removals, rest = [], []
    for broker in old.order:
        found = drift.get(broker)
        if found is None or broker not in there:
            continue
        lines = {line for line in _topic_lines(old, broker) if line[0] in there}
        left = lines - found.missing
        if found.extra:
            removals.append(Step(RESTART, broker, tuple(sorted(found.extra)), (), _bridges_of(left)))
        if left != lines or (found.restart and not found.extra):
            rest.append(Step(RESTART, broker, (), tuple(sorted(lines - left)), _bridges_of(lines)))
        if not found.restart:
            rest.append(Step(RELOAD, broker))
    return [tuple(removals), tuple(rest)]


def _bridges_of(lines: Iterable[TopicLine]) -> dict[str, dict[str, str]]:
    """Return topic lines by listener."""
    bridges: dict[str, dict[str, str]] = {}
    for listener, topic, direction in sorted(lines):
        bridges.setdefault(listener, {})[topic] = direction
    return bridges


def _topic_lines(wiring: Wiring, broker: str) -> set[TopicLine]:
    """Return the topic lines of all bridges that a broker dials."""
    return {
        (listener, topic, direction)
        for listener, topics in wiring.dialled_by(broker).items()
        for topic, direction in topics.items()
    }


def _order_changes(
    old: Wiring,
    new: Wiring,
    changes: Mapping[str, tuple[set[TopicLine], set[TopicLine]]],
    action: str,
    must_restart: Collection[str],
) -> list[tuple[Step, ...]]:
    """Put changes in waves, so that no broker adds a topic before all others have removed their lines of it.

    If brokers wait for each other in a circle, all brokers that remove lines do so first and add theirs in a
    later wave.
    """
    here, there = set(old.order), set(new.order)
    to_remove = {broker: set(removed) for broker, (removed, _) in changes.items() if removed}
    to_add = {broker: set(added) for broker, (_, added) in changes.items()}
    reachable = (here & there) - set(must_restart)
    group, safe = _overlap_groups(old, new, changes)
    waves: list[tuple[Step, ...]] = []
    while to_add:
        removers: dict[str, set[str]] = {}
        for broker, removed in to_remove.items():
            for _, topic, _ in removed:
                if group[topic] not in safe:
                    removers.setdefault(group[topic], set()).add(broker)
        # A broker is ready if its listeners are reachable and nobody else has yet to remove topics that are,
        # or overlap, its new ones.
        ready = [
            broker
            for broker, added in to_add.items()
            if all(
                removers.get(group[topic], set()) <= {broker} and listener in reachable
                for listener, topic, _ in added
            )
        ]
        wave = []
        if ready:
            for broker in ready:
                removed, added = to_remove.pop(broker, set()), to_add.pop(broker)
                own = START if broker not in here else RESTART if broker in must_restart else action
                bridges = dict(new.dialled_by(broker))
                wave.append(Step(own, broker, tuple(sorted(removed)), tuple(sorted(added)), bridges))
        else:
            for broker in list(to_remove):
                removed = to_remove.pop(broker)
                left: dict[str, dict[str, str]] = {}
                for listener, topics in old.dialled_by(broker).items():
                    kept = {t: way for t, way in topics.items() if (listener, t, way) not in removed}
                    if kept and listener in there:
                        left[listener] = kept
                wave.append(Step(action, broker, tuple(sorted(removed)), (), left))
        waves.append(tuple(wave))
        reachable |= {step.broker for step in wave}
    return waves


def _overlap_groups(
    old: Wiring, new: Wiring, changes: Mapping[str, tuple[set[TopicLine], set[TopicLine]]]
) -> tuple[dict[str, str], set[str]]:
    """Return the group of each topic that changes, and the groups whose lines may change in any order.

    A group is named after the first of the topics that overlap. Its order does not matter if its links before
    and after have no loop together, as where a broker of the tree takes up one more filter.
    """
    changing = {topic for lines in changes.values() for part in lines for _, topic, _ in part}
    if not any(map(has_wildcard, changing)):
        return {topic: topic for topic in changing}, set()
    links: dict[str, set[frozenset[str]]] = {}
    for wiring in (old, new):
        for pair, topics in wiring.bridges.items():
            for topic in topics:
                links.setdefault(topic, set()).add(frozenset(pair))
    group: dict[str, str] = {}
    safe: set[str] = set()
    for members in overlap_groups(links.keys() | changing):
        group |= dict.fromkeys(members, members[0])
        if len(members) > 1 and _is_forest(set().union(*(links.get(topic, set()) for topic in members))):
            safe.add(members[0])
    return group, safe


def _is_forest(links: Iterable[frozenset[str]]) -> bool:
    """Return whether links have no loop."""
    piece: dict[str, set[str]] = {}
    for a, b in links:
        one, other = piece.setdefault(a, {a}), piece.setdefault(b, {b})
        if one is other:
            return False
        one |= other
        piece.update(dict.fromkeys(other, one))
    return True


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
    from meshwright.deploy.settings import bridge_identity

    listed = []
    for broker, ids in orphaned_sessions(delta).items():
        for name in ids:
            local = LOCAL if name.startswith(LOCAL) else ""
            listed.append(f"{local}{bridge_identity(identity, name.removeprefix(LOCAL))} at {broker}")
    if not listed:
        return []
    more = f" and {len(listed) - 5} more" if len(listed) > 5 else ""
    return [
        f"sessions to end, by connecting once with the id and a clean session: {', '.join(listed[:5])}{more}"
    ]
