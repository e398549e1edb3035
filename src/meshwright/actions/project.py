"""The project of the current folder: what its file gives to commands, and the data that it keeps fresh."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.actions.sources import UNUSABLE
from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.actions.plan import DesignChoice, Planned
    from meshwright.actions.route import Routing
    from meshwright.actions.sources import Source
    from meshwright.progress import Progress
    from meshwright.store.project_file import Project

PROJECT_COMMANDS = ("plan", "route", "verify", "report", "export", "diff", "apply")
"""The commands that take their arguments from a project file."""


def arguments_for(command: str, project: Project) -> dict[str, Any]:
    """Return the parameters of a command that a project gives, by their names."""
    from meshwright.deploy.targets import DEFAULT_TARGET

    tables, place = project.tables, project.place
    given, design, target = tables.subscriptions, tables.design, tables.target
    plan, federation, costs = (
        place(tables.outputs.plan),
        place(tables.outputs.federation),
        place(design.costs),
    )
    columns = {
        "source": project.source,
        "node": given.node,
        "topic": given.topic,
        "delimiter": given.delimiter,
        "no_header": not given.header,
    }
    settings = {
        "profile": target.profile,
        "version": target.version,
        "secret": place(target.secret),
        "allow_relays": target.allow_relays,
    }
    places = {"inventory": place(target.inventory), "insecure": target.insecure}
    arguments: dict[str, dict[str, Any]] = {
        "plan": {
            **columns,
            **project.parameters,
            "algorithm": design.algorithm,
            "seed": design.seed,
            "threads": design.threads,
            "certify": design.certify,
            "costs": costs,
            "topic_kind": given.topic_kind,
            "exclude": [*given.exclude, *([UNUSABLE] if given.skip_unusable else [])] or None,
            "expand": given.expand or None,
            "out": plan,
            "force": True,  # the plan is an output of the project
        },
        "route": {
            **columns,
            "plan": plan,
            "objective": tables.routes.objective,
            "rates": project.traffic,
            "today": place(tables.routes.today),
        },
        "verify": {**columns, "plan": plan, "costs": costs},
        "report": {**columns, "plan": plan, "costs": costs, "out": place(tables.outputs.report)},
        "export": {
            **settings,
            **places,
            "plan": plan,
            "to": target.kind or DEFAULT_TARGET,
            "out": federation,
        },
        "diff": {**settings, "old": federation, "new": plan, "markdown": True},
        "apply": {**settings, **places, "plan": plan, "federation": federation},
    }
    return {name: value for name, value in arguments[command].items() if value is not None}


def project_here() -> Project | None:
    """Return the project of the current folder: the nearest one, here or above; None if there is none."""
    from meshwright.store.project_file import find_project, read_project

    file = find_project()
    return None if file is None else read_project(file)


def nearest_project() -> Project:
    """Return the project of the current folder.

    Raises
    ------
    InputError
        If there is none.
    """
    project = project_here()
    if project is None:
        raise InputError("no meshwright.toml here or in a folder above: write one with meshwright init")
    return project


def refresh_data(project: Project, progress: Progress | None = None) -> tuple[str, ...]:
    """Ingest the logs of a project whose dataset is missing or older, and sum up its publish logs likewise.

    Returns what was done, as lines for people.
    """
    from meshwright.actions.ingest import Reading, ingest
    from meshwright.actions.traffic import Publications, sum_traffic
    from meshwright.files.header import DATASET, TRAFFIC

    given, published, done = project.tables.subscriptions, project.tables.publications, []
    if given.logs and changed_since(Path(project.source, DATASET.file), project.places(given.logs)):
        reading = Reading(
            given.format, given.node, given.topic, delimiter=given.delimiter, header=given.header,
            topic_kind=given.topic_kind,
        )  # fmt: skip
        made = ingest(project.places(given.logs), project.source, reading, progress=progress)
        if made.dataset is None:
            raise InputError(f"{project.path}: {made.notes[0]}")
        done.append(f"ingested the logs of {project.path.name} into {made.dataset}")
    traffic = project.traffic
    if (
        published.logs
        and traffic
        and changed_since(Path(traffic, TRAFFIC.file), project.places(published.logs))
    ):
        sum_traffic(
            project.places(published.logs), traffic, Publications(published.format), progress=progress
        )
        done.append(f"summed up the publish logs of {project.path.name} into {traffic}")
    return tuple(done)


def changed_since(made: Path, sources: list[str]) -> bool:
    """Return whether what was made is missing, or older than a file of its sources on this machine."""
    from meshwright.pipeline.readers.sources import list_files

    if not made.exists():
        return True
    local = [Path(file.path) for file in list_files(None, sources, exclude=made.parent)]
    return any(file.exists() and file.stat().st_mtime > made.stat().st_mtime for file in local)


@dataclass(frozen=True, eq=False)
class ProjectPlan:
    """The plan of a project, with its trees."""

    planned: Planned
    routing: Routing
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every topic has a tree."""
        return self.routing.passed

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of the plan and of its trees for a JSON answer."""
        objective = self.routing.trees.objective
        return {**self.planned.to_dict(), "routes": {"objective": objective, **self.routing.figures()}}

    @property
    def lines(self) -> list[str]:
        """Lines for people; the last one says where both are."""
        return [*self.planned.lines[:-1], *self.routing.lines]


def plan_project(
    project: Project,
    source: Source,
    out: str,
    choice: DesignChoice,
    *,
    progress: Progress | None = None,
    **further: Any,
) -> ProjectPlan:
    """Do the whole step of a project: read data that changed, make the plan, and choose its trees.

    `further` are parameters of `plan`.
    """
    from meshwright.actions.plan import note_lost, plan
    from meshwright.actions.route import route
    from meshwright.files.urls import names_in

    read = refresh_data(project, progress)
    before = names_in(out)
    planned = plan(source, out, choice, progress=progress, **further)
    between = names_in(out)
    wanted = project.tables.routes
    routing = route(
        out, source.path, objective=wanted.objective, rates=project.traffic,
        today=project.place(wanted.today), columns=source.columns,
    )  # fmt: skip
    # What the new plan lacked at first, its trees may have brought back.
    early = note_lost(out, before, between)
    noted = [each for each in planned.notes if each not in early]
    lost = note_lost(out, before, names_in(out))
    return ProjectPlan(planned, routing, (*read, *noted, *lost, *routing.notes))
