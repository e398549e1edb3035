"""Apply: explain what a new plan changes in a federation, then change its folders and running brokers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError
from meshwright.formatting import counted

if TYPE_CHECKING:
    from meshwright.deploy.change import Change
    from meshwright.deploy.hosts.requests import UpdateAnswer

SHOWN_DRIFT = 5
"""Differences made by hand that are shown."""


@dataclass(frozen=True)
class ChangeChoice:
    """How a federation changes beside its plan, and how much of that is written."""

    inventory: Path | None = None
    """The file with the addresses of brokers; by default they keep theirs."""
    profile: str | None = None
    version: str | None = None
    secret: Path | None = None
    """The file with the secret; needed where there are passwords."""
    insecure: bool = False
    allow_relays: bool = False
    wave: str | None = None
    """Write only the files of this wave, a number or `next`."""
    staged: Path | None = None
    """Write the files of every wave to this folder, and change nothing else."""
    dry_run: bool = False
    stop: bool = False
    """Stop the change of running brokers that is going on, after its current wave."""

    def __post_init__(self) -> None:
        if sum((self.wave is not None, self.staged is not None, self.dry_run, self.stop)) > 1:
            raise InputError("--wave, --staged, --dry-run and --stop exclude each other: give one")


@dataclass(frozen=True)
class Applied:
    """What was changed in a federation."""

    change: Change
    choice: ChangeChoice
    running: bool
    """Whether brokers run from the folder."""
    wave: int = 0
    """The wave that was written, or 0."""
    files: tuple[str, ...] = ()
    """The files that changed."""
    answer: UpdateAnswer | None = None
    """What the process that runs the brokers has answered."""

    @property
    def passed(self) -> bool:
        """Whether nobody stopped the change."""
        return self.answer is None or not self.answer.stopped

    def to_dict(self) -> dict[str, Any]:
        """Return the result for a JSON answer."""
        from meshwright.deploy.delta import orphaned_sessions

        change, staged = self.change, self.choice.staged
        return {
            "federation": str(change.store),
            "dry_run": self.choice.dry_run,
            "running": self.running,
            "new_secret": change.new_secret,
            **change.delta.to_dict(),
            "outlived_sessions": {} if self.running else orphaned_sessions(change.delta),
            "drift": [str(each) for each in change.drift],
            "wave": self.wave or None,
            "waves_done": self.wave or (change.rollout.done if self.answer is None else self.answer.done),
            "staged": staged and str(staged),
            "files_changed": list(self.files),
            "stopped": not self.passed,
            "cut_seconds": change.cut if self.answer is None else self.answer.cut,
        }

    @property
    def lines(self) -> list[str]:
        """Lines for people."""
        drift = self.change.drift
        lines = [f"drift: {each}" for each in drift[:SHOWN_DRIFT]]
        if len(drift) > SHOWN_DRIFT:
            lines.append(f"… and {len(drift) - SHOWN_DRIFT} more: see meshwright diff --drift")
        if self.change.new_secret:
            lines.append("another secret: every broker restarts, with new passwords")
        return [*lines, *(self._wave_lines if self.choice.wave is not None else self._other_lines)]

    @property
    def _wave_lines(self) -> list[str]:
        """Lines about the wave that was written, and how many are left."""
        waves = self.change.rollout.waves
        left = len(waves) - self.wave
        steps = [f"  {step}" for step in waves[self.wave - 1]] if self.wave else []
        then = f"perform these steps, then write the {'last wave' if left == 1 else f'next of {left} waves'}"
        return [
            *([f"wave {self.wave} of {len(waves)}:", *steps] if steps else ["nothing changes"]),
            f"{counted(len(self.files), 'file')} changed in {self.change.store}; "
            + (then if left else "this was the last wave"),
            *([] if left else self.change.sessions),
        ]

    @property
    def _other_lines(self) -> list[str]:
        """Lines about all steps that are left, and what was written."""
        change, done = self.change, self.change.rollout.done
        waves = len(change.rollout.waves)
        lines = [*change.steps, *([] if self.running else change.sessions)]
        if self.choice.dry_run and done:
            are = "is" if done == waves == 1 else "are"
            lines.append(f"{done} of {counted(waves, 'wave')} {are} written: go on with --wave next")
        if self.choice.dry_run:
            return [*lines, "dry run: nothing was changed"]
        if self.choice.staged is not None:
            staged = f"the files of each wave are in {self.choice.staged}; {change.store} was not changed"
            return [*lines, staged]
        if self.answer is not None:
            from meshwright.deploy.delta import name_cuts
            from meshwright.deploy.hosts.requests import explain_stop

            lines += name_cuts(self.answer.cut, "cut, measured")
            if self.answer.stopped:
                return [*lines, explain_stop(self.answer.done, self.answer.waves)]
        applied = "applied to the running brokers; " if self.running and change.delta.steps else ""
        return [*lines, f"{applied}{counted(len(self.files), 'file')} changed in {change.store}"]


@dataclass(frozen=True)
class PlannedChange:
    """A change that is explained and not performed yet.

    Nobody else changes the federation meanwhile, unless brokers run here: then the process that runs them
    makes all changes, and computes this one again when its turn comes.
    """

    plan: str
    change: Change
    choice: ChangeChoice
    running: bool
    """Whether brokers run from the folder."""
    notes: tuple[str, ...] = ()

    @property
    def disturbs(self) -> bool:
        """Whether running brokers would act, so that a person should agree first."""
        only_files = self.choice.wave or self.choice.staged or self.choice.dry_run
        return self.running and not only_files and bool(self.change.delta.steps)

    def explain(self) -> list[str]:
        """Return lines that explain the steps."""
        return self.change.steps

    def perform(self) -> Applied:
        """Write the files that were chosen, and change the brokers if they run here."""
        from meshwright.deploy.change import write_everything, write_stages, write_wave

        change, choice, wave = self.change, self.choice, 0
        files: Sequence[str] = ()
        answer = None
        if choice.staged is not None:
            write_stages(change, choice.staged)
        elif choice.wave is not None:
            wave, files = write_wave(change, choice.wave)
        elif self.running and not choice.dry_run:
            from meshwright.deploy.hosts.requests import request_update

            given = {
                "profile": choice.profile,
                "version": choice.version,
                "secret": choice.secret and str(choice.secret.absolute()),
            }
            answer = request_update(
                Path(str(change.store)),
                self.plan,
                change.inventory,
                allow_relays=choice.allow_relays,
                chosen={name: value for name, value in given.items() if value},
            )
            files = answer.changed
        elif not choice.dry_run:
            files = write_everything(change)
        return Applied(change, choice, self.running, wave, tuple(files), answer)


@dataclass(frozen=True)
class Stopped:
    """A change of running brokers that was stopped, or was in its last wave."""

    federation: Path
    done: int = 0
    """The waves that are done, or 0 if no change is under way."""
    waves: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the result for a JSON answer."""
        return {"federation": str(self.federation), "waves_done": self.done, "waves": self.waves}

    @property
    def lines(self) -> list[str]:
        """Lines for people."""
        from meshwright.deploy.hosts.requests import explain_stop

        if not self.waves:
            return [f"no change of {self.federation} is under way: none was, or its last wave is done"]
        return [explain_stop(self.done, self.waves)]


def stop_change(federation: Path) -> Stopped:
    """Stop the change of running brokers after its current wave, and wait for that.

    Raises
    ------
    InputError
        If no process runs the brokers.
    """
    from meshwright.deploy.hosts.requests import request_stop

    rollout = request_stop(federation)
    return Stopped(federation) if rollout is None else Stopped(federation, rollout.done, len(rollout.waves))


@contextmanager
def plan_apply(
    plan: str | Path, federation: Path, choice: ChangeChoice | None = None
) -> Iterator[PlannedChange]:
    """Yield the change of a federation's folder to a new plan, to explain it and then to perform it.

    Until the context ends, no other run changes the federation; one that runs here goes on.

    Raises
    ------
    InputError
        If the plan has no trees that the brokers can run, or the choice does not fit the federation.
    FormatError
        If the folder is not a federation, or is damaged.
    """
    from meshwright.deploy.change import plan_change
    from meshwright.deploy.folder_store import FederationFolder, is_supervised
    from meshwright.deploy.inventory import read_inventory
    from meshwright.deploy.named_trees import read_named_trees
    from meshwright.deploy.settings import require_protected

    choice = choice or ChangeChoice()
    store = FederationFolder(federation)
    known = store.read().settings
    if known.secured and choice.secret is None:
        raise InputError(
            f"{federation} has passwords: give the --secret that it was written with, or a new one"
        )
    settings = known.changed(choice.profile, choice.version, choice.secret)
    trees = read_named_trees(plan, allow_relays=choice.allow_relays)
    inventory = None if choice.inventory is None else read_inventory(choice.inventory)
    running = is_supervised(federation)
    if running and choice.wave is not None:
        raise InputError(f"the brokers of {federation} run here and change wave by wave: omit --wave")
    # The process that runs brokers takes the lock for its own changes.
    with nullcontext() if running else store.lock():
        change = plan_change(store, trees, settings, inventory, together=running)
        notes = require_protected(change.inventory, settings, insecure=choice.insecure)
        yield PlannedChange(str(plan), change, choice, running, tuple(notes))
