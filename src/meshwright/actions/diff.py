"""Diff: what changes from a plan, or from a deployed federation, to a new plan; where, and in which order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.deploy.delta import Delta
    from meshwright.deploy.drift import Drift
    from meshwright.deploy.settings import BrokerSettings


MOST_ROWS = 100
"""How many steps a table in Markdown has at most: hosts limit the length of comments."""


@dataclass(frozen=True)
class Difference:
    """What changes from an old plan or federation to a new plan."""

    old: str
    new: str
    delta: Delta
    """The steps, in waves."""
    settings: BrokerSettings
    """How links are configured, and the kind of broker."""
    waves_done: int = 0
    """How many waves of a rollout to the new plan have been written."""
    drift: tuple[Drift, ...] = ()
    """What was changed by hand in the files of the old federation."""

    def to_dict(self) -> dict[str, Any]:
        """Return the difference for a JSON answer: the steps that are left."""
        from meshwright.deploy.delta import orphaned_sessions

        left = replace(self.delta, waves=self.delta.waves[self.waves_done :])
        return {
            "old": self.old,
            "new": self.new,
            **left.to_dict(),
            "outlived_sessions": orphaned_sessions(left),
            "drift": [str(each) for each in self.drift],
            "cut_seconds": self.delta.estimate_cut(self.settings.broker, self.waves_done),
        }

    @property
    def lines(self) -> list[str]:
        """Lines for people: the steps that are left, and which sessions to end after them."""
        from meshwright.deploy.delta import explain_cut, explain_delta, explain_orphaned_sessions

        return [
            *explain_delta(self.delta, self.waves_done),
            *explain_cut(self.delta, self.settings.broker, self.waves_done),
            *explain_orphaned_sessions(self.delta, self.settings.identity_key),
        ]

    @property
    def markdown(self) -> str:
        """The steps that are left as Markdown, for a review: a table, and what they mean for messages."""
        from meshwright.deploy.delta import name_lines
        from meshwright.formatting import counted, escape_markdown

        waves = list(enumerate(self.delta.waves, start=1))[self.waves_done :]
        steps = [(number, step) for number, wave in waves for step in wave]
        heading = f"### Brokers: {escape_markdown(self.old)} → {escape_markdown(self.new)}"
        by_hand = [f"- edited by hand: {escape_markdown(str(each))}" for each in self.drift[:MOST_ROWS]]
        if not steps:
            return "\n".join([heading, "", *self.lines, *by_hand])
        rows = []
        for number, step in steps[:MOST_ROWS]:
            cells = [str(number), step.broker, step.action, *map(name_lines, (step.removed, step.added))]
            rows.append("| " + " | ".join(escape_markdown(cell) for cell in cells) + " |")
        left = len(steps) - MOST_ROWS
        more = [f"… and {counted(left, 'more step')}"] if left > 0 else []
        said = [line for line in self.lines if not line.startswith((" ", "wave "))]
        return "\n".join(
            [
                *(heading, ""),
                *("| wave | broker | action | without | with |", "| --- | --- | --- | --- | --- |"),
                *(*rows, ""),
                *(f"- {escape_markdown(line)}" for line in (*more, *said)),
                *by_hand,
            ]
        )


def diff(
    old: str,
    new: str,
    *,
    profile: str | None = None,
    version: str | None = None,
    secret: Path | None = None,
    allow_relays: bool = False,
    drift: bool = False,
) -> Difference:
    """Compare a new plan with an old one, or with a federation's folder, as `apply` would change it.

    Without a profile, version or secret, a federation keeps its own. `drift` requires a federation's folder.

    Raises
    ------
    InputError
        If a plan has no trees that brokers can run, or `drift` is asked of a plan.
    """
    from meshwright.deploy.change import plan_change
    from meshwright.deploy.folder_store import FederationFolder, is_supervised
    from meshwright.deploy.named_trees import read_named_trees
    from meshwright.deploy.settings import BrokerSettings
    from meshwright.deploy.waves import compute_delta
    from meshwright.deploy.wiring import rewire, wire
    from meshwright.files.header import FEDERATION, holds
    from meshwright.files.urls import local_path

    trees = read_named_trees(new, allow_relays=allow_relays)
    folder = Path(local_path(old) or old)
    if holds(folder, FEDERATION):
        store = FederationFolder(folder)
        settings = store.read().settings.changed(profile, version, secret)
        change = plan_change(store, trees, settings, to_write=False, together=is_supervised(folder))
        done = change.rollout.done
        return Difference(old, new, change.delta, settings, done, change.drift)
    if drift:
        raise InputError(f"{old} is not a federation's folder: --drift compares the files of one")
    before = wire(read_named_trees(old, allow_relays=allow_relays))
    settings = BrokerSettings(profile or "plain", version or "")
    return Difference(old, new, compute_delta(before, rewire(trees, before), settings), settings)
