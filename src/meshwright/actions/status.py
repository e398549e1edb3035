"""Status: which parts of a project are out of date, and which command comes next."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from meshwright.actions.project import changed_since, nearest_project

if TYPE_CHECKING:
    from meshwright.store.plans import PlanHeader
    from meshwright.store.project_file import Project

State: TypeAlias = Literal["up to date", "out of date", "missing", "not checked"]
UP_TO_DATE: State = "up to date"


@dataclass(frozen=True)
class Step:
    """A part of a project, and whether it is what the project file and the parts before it ask for."""

    name: str
    state: State
    why: str = ""
    command: str = ""
    """The command that brings it up to date."""


@dataclass(frozen=True)
class Status:
    """The parts of a project in the order in which they are made."""

    project: Path
    steps: tuple[Step, ...]

    @property
    def next(self) -> str | None:
        """The command that comes next; None if everything is up to date."""
        return next((step.command for step in self.steps if step.state != UP_TO_DATE), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the parts and the next command for a JSON answer."""
        answer = {"project": str(self.project), "up_to_date": self.next is None}
        return {**answer, "steps": [asdict(step) for step in self.steps], "next": self.next}

    @property
    def lines(self) -> list[str]:
        """Lines for people."""
        width = max(len(step.name) for step in self.steps)
        parts = [
            f"{step.name:<{width}}  {step.state}{f': {step.why}' if step.why else ''}" for step in self.steps
        ]
        return [*parts, "everything is up to date" if self.next is None else f"next: {self.next}"]


def status(project: Project | None = None) -> Status:
    """Find out which parts of a project are out of date: data, plan, trees, and the files of its brokers.

    Nothing is written. A part after one that is out of date is not checked.
    """
    project = project or nearest_project()
    steps: list[Step] = []
    for name, check in (
        ("data", _data_step), ("plan", _plan_step), ("trees", _trees_step), ("files", _files_step)
    ):  # fmt: skip
        left = next((step for step in steps if step.state != UP_TO_DATE), None)
        steps.append(
            Step(name, "not checked", f"{left.name} first", left.command) if left else check(project)
        )
    return Status(project.path, tuple(steps))


def _data_step(project: Project) -> Step:
    """Compare the dataset with its logs, or see whether the source is there."""
    from meshwright.files.header import DATASET
    from meshwright.files.urls import is_url

    logs, source = project.places(project.tables.subscriptions.logs), project.source
    if not logs:
        if is_url(source) or Path(source).exists():
            return Step("data", UP_TO_DATE)
        return Step("data", "missing", f"{source} is not there", f"edit {project.path}")
    manifest = Path(source, DATASET.file)
    if not manifest.exists():
        return Step("data", "missing", f"{source} is not made yet", "meshwright plan")
    if changed_since(manifest, logs):
        return Step("data", "out of date", f"logs changed since {source} was made", "meshwright plan")
    return Step("data", UP_TO_DATE)


def _plan_step(project: Project) -> Step:
    """Compare the plan with the subscriptions and the design that is wanted."""
    from meshwright.store.interest_files import Columns, read_source
    from meshwright.store.plans import open_plan

    given, place = project.tables.subscriptions, str(project.place(project.tables.outputs.plan))
    command = "meshwright plan"
    if not Path(place, "plan.json").exists():
        return Step("plan", "missing", f"{place} is not made yet", command)
    stored = open_plan(place)
    columns = Columns(given.node, given.topic, given.delimiter, given.header)
    interest = read_source(project.source, columns, given.topic_kind).interest
    if not interest.has_fingerprint(stored.header.dataset):
        return Step("plan", "out of date", f"made for other subscriptions than {project.source}", command)
    wrong = _differences(project, stored.header, stored.metadata)
    if wrong:
        return Step("plan", "out of date", f"made with {wrong}", command)
    return Step("plan", UP_TO_DATE)


def _differences(project: Project, header: PlanHeader, stated: dict[str, Any]) -> str:
    """Say how a plan was made otherwise than its project asks for: the first difference."""
    from meshwright.designs.registry import PARAMETERS, find

    wanted, given = project.tables.design, project.tables.subscriptions
    if header.algorithm != wanted.algorithm:
        return f"{header.algorithm}, not {wanted.algorithm}"
    used, made = find(wanted.algorithm).used(project.parameters), stated["parameters"]
    # A ratio becomes a budget, which the plan states as well.
    derived = {"max_edges", "max_degree"} if "ratio" in used else set()
    for name in PARAMETERS:
        if name not in derived and made.get(name) != used.get(name):
            return f"{name} = {made.get(name)}, not {used.get(name)}"
    if find(wanted.algorithm).seeded and header.seed != wanted.seed:
        return f"seed = {header.seed}, not {wanted.seed}"
    if header.topics is not None:
        choice = header.topics
        chosen = (set(choice.excluded), set(choice.expanded), choice.skip_unusable)
        if chosen != (set(given.exclude), set(given.expand), given.skip_unusable):
            return "another choice of filters"
    if wanted.certify and header.figures.lower_bound is None:
        return "no proof"
    return ""


def _trees_step(project: Project) -> Step:
    """Compare the trees of the plan with those that are wanted."""
    from meshwright.store.plans import open_plan

    place, wanted = str(project.place(project.tables.outputs.plan)), project.tables.routes
    routes = open_plan(place).header.routes
    if routes is None:
        return Step("trees", "missing", f"{place} has no trees yet", "meshwright route")
    if routes.objective != wanted.objective:
        why = f"made by {routes.objective}, not {wanted.objective}"
        return Step("trees", "out of date", why, "meshwright route")
    if routes.rates is not (project.traffic is not None):
        why = "made without rates" if project.traffic else "made with rates"
        return Step("trees", "out of date", why, "meshwright route")
    return Step("trees", UP_TO_DATE)


def _files_step(project: Project) -> Step:
    """Compare the files of the brokers with the plan."""
    from meshwright.actions.diff import diff
    from meshwright.files.header import FEDERATION, holds
    from meshwright.formatting import counted

    target, outputs = project.tables.target, project.tables.outputs
    plan, folder = str(project.place(outputs.plan)), str(project.place(outputs.federation))
    if not holds(Path(folder), FEDERATION):
        return Step("files", "missing", f"{folder} is not written yet", "meshwright export")
    secret = project.place(target.secret)
    found = diff(
        folder, plan, profile=target.profile, version=target.version,
        secret=None if secret is None else Path(secret), allow_relays=target.allow_relays,
    )  # fmt: skip
    if found.drift:
        changed = counted(len(found.drift), "difference")
        return Step("files", "out of date", f"edited by hand: {changed}", "meshwright diff --drift")
    left = len(found.delta.waves) - found.waves_done
    if left:
        return Step("files", "out of date", f"{counted(left, 'wave')} of changes", "meshwright apply")
    return Step("files", UP_TO_DATE)
