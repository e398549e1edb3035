"""Waves: the order in which brokers restart, reload, start and stop, so that no message ever circles.

- For each topic, or group of filters that overlap, removals happen before additions: the other order makes a
  loop for a moment, and messages arrive twice.
- A broker that joins dials all its neighbours, so no other broker acts.
- The target says what a broker must do for an edit. A link to a broker that is gone leaves the files now;
  the broker that dials it may have nothing to do until its next restart.

A person may take the steps of a wave in any order. A process that runs the brokers itself joins the waves: it
stops all brokers that restart, and only then starts the first with its last files. No old line meets a new
one, each broker restarts once, and each topic is cut once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from meshwright.deploy.delta import Delta, Step
from meshwright.deploy.drift import BrokerDrift
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets import (
    ACCESS,
    EDITED,
    GONE,
    LINKS,
    MOVED,
    NOTHING,
    RELOAD,
    RESTART,
    START,
    STOP,
)
from meshwright.deploy.wiring import TopicLine, Wiring
from meshwright.filters.groups import overlap_groups
from meshwright.filters.mqtt import has_wildcard


def compute_delta(
    old: Wiring,
    new: Wiring,
    settings: BrokerSettings,
    *,
    must_restart: Collection[str] = (),
    drift: Mapping[str, BrokerDrift] | None = None,
) -> Delta:
    """Compute the steps from one wiring to another; `new` must keep the order of the brokers that stay.

    Brokers in `must_restart`, such as those with another address or password, act before their diallers.
    With passwords, brokers first load those of their new diallers, and their access lists. Before everything
    else, `drift` is repaired.
    """

    def action_for(edit: str) -> str:
        return settings.broker.classify(edit, settings)

    here, there = set(old.order), set(new.order)
    waves = _repair_waves(old, there, drift or {}, action_for)
    waves += [tuple(Step(STOP, broker) for broker in old.order if broker not in there)]
    changes: dict[str, tuple[set[TopicLine], set[TopicLine]]] = {}
    no_action = []
    for broker in new.order:
        before = old.lines_of(broker) if broker in here else set()
        after = new.lines_of(broker)
        removed = {line for line in before - after if line[0] in there}
        added = {line for line in after if line not in before or line[0] in must_restart}
        joins = broker not in here
        if removed or added or joins or broker in must_restart:
            changes[broker] = (removed, added)
        elif before - after and action_for(GONE) == NOTHING:
            no_action.append(broker)
        elif before - after:
            changes[broker] = (removed, added)
    if settings.secured and action_for(ACCESS) != NOTHING:
        waves.append(
            tuple(
                Step(action_for(ACCESS), broker)
                for broker in new.order
                if broker in here - set(must_restart) and old.dialled_to(broker) != new.dialled_to(broker)
            )
        )
    waves += _order_changes(old, new, changes, action_for, must_restart)
    waves = [wave for wave in waves if wave]
    return Delta(old, new, tuple(waves), tuple(no_action), frozenset(must_restart), settings.durable)


def join_waves(delta: Delta) -> Delta:
    """Return a delta whose brokers act together, each once, after those that only reload access lists.

    Links that change by reload need their waves: nothing stops meanwhile.
    """
    if any(step.action == RELOAD and step.bridges is not None for step in delta.steps):
        return delta
    joined: dict[str, Step] = {}
    for step in delta.steps:
        joined[step.broker] = _join(joined[step.broker], step) if step.broker in joined else step
    reloads = tuple(step for step in joined.values() if step.action == RELOAD)
    others = tuple(step for step in joined.values() if step.action != RELOAD)
    return replace(delta, waves=tuple(wave for wave in (reloads, others) if wave))


def _join(one: Step, then: Step) -> Step:
    """Return what two steps of a broker do together."""
    return Step(
        max(one.action, then.action, key=(RELOAD, RESTART, START, STOP).index),
        one.broker,
        tuple(sorted({*one.removed, *then.removed} - {*then.added})),
        tuple(sorted({*one.added, *then.added} - {*then.removed})),
        one.bridges if then.bridges is None else then.bridges,
    )


def _repair_waves(
    old: Wiring, there: Collection[str], drift: Mapping[str, BrokerDrift], action_for: Callable[[str], str]
) -> list[tuple[Step, ...]]:
    """Return the waves that repair changes by hand: first all added lines go, then lost ones return."""
    removals, rest = [], []
    for broker in old.order:
        found = drift.get(broker)
        if found is None or broker not in there:
            continue
        lines = {line for line in old.lines_of(broker) if line[0] in there}
        left = lines - found.missing
        if found.extra:
            extra = tuple(sorted(found.extra))
            removals.append(Step(action_for(EDITED), broker, extra, (), _bridges_of(left)))
        if left != lines or (found.restart and not found.extra):
            lost = tuple(sorted(lines - left))
            rest.append(Step(action_for(EDITED), broker, (), lost, _bridges_of(lines)))
        if not found.restart:
            rest.append(Step(action_for(ACCESS), broker))
    return [tuple(removals), tuple(rest)]


def _bridges_of(lines: Iterable[TopicLine]) -> dict[str, dict[str, str]]:
    """Return topic lines by listener."""
    bridges: dict[str, dict[str, str]] = {}
    for listener, topic, direction in sorted(lines):
        bridges.setdefault(listener, {})[topic] = direction
    return bridges


def _order_changes(
    old: Wiring,
    new: Wiring,
    changes: Mapping[str, tuple[set[TopicLine], set[TopicLine]]],
    action_for: Callable[[str], str],
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
                own = action_for(MOVED if broker in must_restart else LINKS) if broker in here else START
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
                wave.append(Step(action_for(LINKS), broker, tuple(sorted(removed)), (), left))
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
