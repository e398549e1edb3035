"""What changes between two wirings: on which broker, in which order, and by which means.

For each topic, what is taken away goes before anything is added: the other order makes a loop for a moment,
and doubles. Who joins dials all its neighbours, so nobody else has to do anything. Mosquitto 2.0 takes up
changed bridges with a restart of the dialling end only, 2.1 with a reload: no client is cut off, and a bridge
that changes begins anew. After a reload a bridge that connects again has lost what waited at its dialler; so
where sessions last, 2.1 restarts too. A bridge to a broker that is gone does no harm; it vanishes from the
file, and with the next restart or reload. Not so where sessions last: it would queue what nobody will fetch,
so its dialler acts too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from meshwright.deploy.config.wiring import Wiring

if TYPE_CHECKING:
    from typing import TypeAlias

    Line: TypeAlias = tuple[str, str, str]
    """The other end, a topic, and its direction."""

STOP, START, RESTART, RELOAD = "stop", "start", "restart", "reload"


@dataclass(frozen=True)
class Step:
    """What is done to one broker, and the bridges it dials afterwards."""

    action: str
    broker: str
    removed: tuple[Line, ...] = ()
    added: tuple[Line, ...] = ()
    bridges: Mapping[str, Mapping[str, str]] | None = None
    """None: they stay as they are, and only who may connect changes."""

    @property
    def changed(self) -> set[str]:
        """The other ends of bridges that it changes."""
        return {other for other, _, _ in (*self.removed, *self.added)}

    def __str__(self) -> str:
        parts = [f"{self.action} {self.broker}"]
        for what, lines in (("without", self.removed), ("with", self.added)):
            if lines:
                shown = ", ".join(f"{topic} ↔ {other}" for other, topic, _ in lines[:3])
                parts.append(f"{what} {shown}" + (f" and {len(lines) - 3} more" if len(lines) > 3 else ""))
        if self.bridges is None and self.action == RELOAD:
            parts.append("for changed passwords and access")
        return "; ".join(parts)


@dataclass(frozen=True)
class Delta:
    """The way from one wiring to another: waves of steps, all of a wave at once, each wave after the last."""

    old: Wiring
    new: Wiring
    waves: tuple[tuple[Step, ...], ...]
    quiet: tuple[str, ...]
    """Brokers whose files change and who need not act: what goes are bridges to brokers that are gone."""
    restless: frozenset[str] = frozenset()
    """Brokers that start anew whatever their bridges; who dials them finds them only after its own step."""
    durable: bool = False
    """Whether sessions last, so that messages wait for a broker that restarts."""

    @property
    def steps(self) -> list[Step]:
        """All steps, in order."""
        return [step for wave in self.waves for step in wave]

    @property
    def restarts(self) -> list[str]:
        """Brokers whose clients are cut off for a moment."""
        return sorted({step.broker for step in self.steps if step.action == RESTART})

    @property
    def touched(self) -> set[str]:
        """Topics that may lose messages meanwhile: their tree changes, or a broker of it restarts or ends."""
        return set().union(*(self.touched_by(wave) for wave in self.waves))

    @property
    def renewed(self) -> frozenset[frozenset[str]]:
        """Links that were there, and that a reload breaks: what is under way there may be lost."""
        return frozenset(
            frozenset((step.broker, other))
            for step in self.steps
            if step.action == RELOAD
            for other in step.changed
            if (step.broker, other) in self.old.bridges
        )

    def touched_by(self, wave: Iterable[Step]) -> set[str]:
        """Return the topics that may lose messages while a wave lasts."""
        found: set[str] = set()
        for step in wave:
            found |= {topic for _, topic, _ in (*step.removed, *step.added)}
            for wiring in (self.old, self.new) if step.action == RELOAD else ():
                dialled = wiring.dialled_by(step.broker)
                found |= {topic for other in step.changed for topic in dialled.get(other, {})}
            if step.action in (RESTART, STOP):
                for wiring in (self.old, self.new):
                    ends = (*wiring.dialled_by(step.broker).values(), *wiring.heard_by(step.broker).values())
                    found |= {topic for lines in ends for topic in lines}
        return found

    def described(self) -> dict[str, Any]:
        """Return what a JSON answer says of it."""
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
            "quiet": list(self.quiet),
            "touched_topics": len(self.touched),
        }


def delta(
    old: Wiring,
    new: Wiring,
    *,
    version: str = "2.0",
    secured: bool = False,
    restless: Collection[str] = (),
    durable: bool = False,
) -> Delta:
    """Find the steps from one wiring to another; the new one must keep the order of brokers that stay.

    Brokers that are `restless`, at another address or with new passwords, act first, then those that dial
    them.
    """
    here, there = set(old.order), set(new.order)
    waves = [tuple(Step(STOP, broker) for broker in old.order if broker not in there)]
    changes: dict[str, tuple[set[Line], set[Line]]] = {}
    quiet = []
    for broker in new.order:
        before = _lines(old, broker) if broker in here else set()
        after = _lines(new, broker)
        gone = {line for line in before - after if line[0] in there}
        more = {line for line in after if line not in before or line[0] in restless}
        if gone or more or broker not in here or broker in restless or (durable and before - after):
            changes[broker] = (gone, more)
        elif before - after:
            quiet.append(broker)
    if secured:
        waves.append(
            tuple(
                Step(RELOAD, broker)
                for broker in new.order
                if broker in here - set(restless) and old.heard_by(broker) != new.heard_by(broker)
            )
        )
    act = RELOAD if version == "2.1" and not durable else RESTART
    waves += _ordered(old, new, changes, act, restless)
    waves = [wave for wave in waves if wave]
    return Delta(old, new, tuple(waves), tuple(quiet), frozenset(restless), durable)


def _lines(wiring: Wiring, broker: str) -> set[Line]:
    return {
        (other, topic, way)
        for other, lines in wiring.dialled_by(broker).items()
        for topic, way in lines.items()
    }


def _ordered(
    old: Wiring,
    new: Wiring,
    changes: Mapping[str, tuple[set[Line], set[Line]]],
    act: str,
    restless: Collection[str],
) -> list[tuple[Step, ...]]:
    """Put changes in waves: nobody adds a topic while another has yet to take it away.

    Where brokers wait for each other in a circle, all of it that take something away do that first, and add
    what they add later.
    """
    here = set(old.order)
    losing = {broker: set(gone) for broker, (gone, _) in changes.items() if gone}
    gaining = {broker: set(more) for broker, (_, more) in changes.items()}
    present = (here & set(new.order)) - set(restless)
    waves: list[tuple[Step, ...]] = []
    while gaining:
        keepers: dict[str, set[str]] = {}
        for broker, gone in losing.items():
            for _, topic, _ in gone:
                keepers.setdefault(topic, set()).add(broker)
        ready = [
            broker
            for broker, more in gaining.items()
            if all(keepers.get(topic, set()) <= {broker} and other in present for other, topic, _ in more)
        ]
        if ready:
            wave = []
            for broker in ready:
                gone, more = losing.pop(broker, set()), gaining.pop(broker)
                action = START if broker not in here else RESTART if broker in restless else act
                wave.append(Step(action, broker, _sorted(gone), _sorted(more), dict(new.dialled_by(broker))))
        else:
            wave = []
            for broker in list(losing):
                gone = losing.pop(broker)
                left: dict[str, dict[str, str]] = {}
                for other, lines in old.dialled_by(broker).items():
                    kept = {t: way for t, way in lines.items() if (other, t, way) not in gone}
                    if kept and other in set(new.order):
                        left[other] = kept
                wave.append(Step(act, broker, _sorted(gone), (), left))
        waves.append(tuple(wave))
        present |= {step.broker for step in wave}
    return waves


def _sorted(lines: set[Line]) -> tuple[Line, ...]:
    return tuple(sorted(lines))


def explained(found: Delta) -> Sequence[str]:
    """Spell a delta for the person who is about to apply it."""
    if not found.steps and not found.quiet:
        return ["nothing changes"]
    lines = []
    for number, wave in enumerate(found.waves, start=1):
        lines.append(f"wave {number}:")
        lines += [f"  {step}" for step in wave]
    if found.quiet:
        shown = ", ".join(found.quiet[:5]) + (" …" if len(found.quiet) > 5 else "")
        lines.append(
            f"no action: {shown}; they dial brokers that are gone, in vain and harmlessly, until a restart"
        )
    if found.restarts:
        lines.append(
            f"clients of {len(found.restarts)} brokers are cut off for a moment; "
            f"{len(found.touched)} topics {_meanwhile(found)}"
        )
    elif found.renewed:
        lines.append(f"no client is cut off; {len(found.touched)} topics may lose messages meanwhile")
    return lines


def _meanwhile(found: Delta) -> str:
    """Say what becomes of messages on topics that a delta touches."""
    if found.durable:
        return "are touched, and where their trees stay messages wait"
    return "may lose messages meanwhile"
