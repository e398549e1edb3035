"""The project file, `meshwright.toml`: where data comes from, what is wanted of a plan, and where results go.

It lives next to the data, in git. Each table and key is declared here once, with its type and range; the
parameters of designs are those of the registry. Paths are relative to the file.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from meshwright.designs.registry import PARAMETERS, find
from meshwright.errors import FormatError, InputError
from meshwright.files.schema import Count, parse_record
from meshwright.files.urls import is_url

NAME = "meshwright.toml"


class Subscriptions(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Who subscribes to what: a file or dataset that is planned as it is, or logs that are ingested first."""

    source: Annotated[str, Meta(description="a file with columns node and topic, or a dataset")] | None = None
    logs: Annotated[list[str], Meta(description="raw files, folders and globs, ingested by plan")] = []
    format: Annotated[str, Meta(description="the format of the logs; by default from their names")] = ""
    node: str = "node"
    topic: str = "topic"
    delimiter: str | None = None
    header: bool = True
    topic_kind: Literal["mqtt", "plain"] | None = None
    exclude: Annotated[list[str], Meta(description="MQTT filters that are left out")] = []
    expand: Annotated[list[str], Meta(description="catch-alls that are replaced by what they cover")] = []
    skip_unusable: Annotated[bool, Meta(description="leave out filters that no bridge can carry")] = False


class Publications(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Who publishes how much: sums that are there, or publish logs that are summed up first."""

    traffic: Annotated[str, Meta(description="a folder made by traffic")] | None = None
    logs: Annotated[list[str], Meta(description="publish logs, summed up by plan")] = []
    format: str | None = None


class DesignChoice(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What is wanted of the plan; the parameters of designs are further keys, by their names in Python."""

    algorithm: str = "gm"
    seed: Count = 0
    threads: Annotated[int, Meta(ge=1, le=1024)] = 1
    certify: Annotated[bool, Meta(description="prove how few links are needed")] = False
    costs: Annotated[str, Meta(description="a file of link costs")] | None = None


def _parameter_type(name: str) -> Any:
    """Return the type of a design's parameter, as the registry declares it."""
    declared = PARAMETERS[name]
    if declared.choices:
        # A project has one plan: a front has many.
        return Literal[tuple(choice for choice in declared.choices if choice != "front")] | None
    if declared.least is None:
        return declared.kind | None
    return Annotated[declared.kind, Meta(ge=declared.least, le=declared.most)] | None


if TYPE_CHECKING:
    DesignTable = DesignChoice
else:
    DesignTable = msgspec.defstruct(
        "DesignTable",
        [(name, _parameter_type(name), None) for name in PARAMETERS],
        bases=(DesignChoice,),
        namespace={"__doc__": DesignChoice.__doc__},
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
    )


class Routes(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The tree of each topic."""

    objective: Literal["hops", "load", "stable"] = "hops"
    today: Annotated[str, Meta(description="stable: the plan whose trees are in use")] | None = None


class Target(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The brokers."""

    kind: Annotated[str, Meta(description="what export writes; by default for the usual brokers")] | None = (
        None
    )
    version: Annotated[str, Meta(description="the oldest version in use")] | None = None
    profile: Literal["plain", "durable"] | None = None
    inventory: Annotated[str, Meta(description="a file with the addresses of brokers")] | None = None
    secret: Annotated[str, Meta(description="a file with the secret of the passwords")] | None = None
    insecure: bool = False
    allow_relays: bool = False


class Outputs(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Where results go."""

    dataset: str = "dataset"
    traffic: str = "traffic"
    plan: str = "plan"
    federation: str = "federation"
    report: Annotated[str, Meta(description="the page; by default in the plan's folder")] | None = None


class ProjectTables(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The tables of a project file."""

    subscriptions: Subscriptions
    publications: Publications = Publications()
    design: DesignTable = DesignTable()
    routes: Routes = Routes()
    target: Target = Target()
    outputs: Outputs = Outputs()


@dataclass(frozen=True)
class Project:
    """A project file that was read."""

    path: Path
    tables: ProjectTables

    def place(self, given: str | None) -> str | None:
        """Return a path of the file as seen from the current folder; URLs stay."""
        if given is None or is_url(given):
            return given
        folder = os.path.relpath(self.path.parent)
        return given if folder == os.curdir else os.path.normpath(Path(folder, given))

    def places(self, given: list[str]) -> list[str]:
        """Return several paths as seen from the current folder."""
        return [place for each in given if (place := self.place(each)) is not None]

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the design that the file gives."""
        given = {name: getattr(self.tables.design, name) for name in PARAMETERS}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def source(self) -> str:
        """What is planned: the file or dataset, or the dataset that the logs become."""
        tables = self.tables
        return str(self.place(tables.subscriptions.source or tables.outputs.dataset))

    @property
    def traffic(self) -> str | None:
        """The folder of traffic, if the file names publications."""
        given = self.tables.publications
        return self.place(self.tables.outputs.traffic if given.logs else given.traffic)


def find_project(start: Path | None = None) -> Path | None:
    """Return the nearest project file: in the folder, by default the current one, or in one above it.

    Raises
    ------
    InputError
        If the nearest one belongs to somebody else, who could choose what we write.
    """
    folder = (start or Path.cwd()).absolute()
    trusted = {0, folder.stat().st_uid, *([os.getuid()] if hasattr(os, "getuid") else [])}
    for each in (folder, *folder.parents):
        file = each / NAME
        if file.is_file():
            if file.stat().st_uid not in trusted:
                raise InputError(
                    f"{file} belongs to another user: name the dataset and plan, or copy it here"
                )
            return file
    return None


def read_project(path: Path) -> Project:
    """Read a project file.

    Raises
    ------
    FormatError
        If it is not TOML, or a key is unknown, missing or wrong.
    InputError
        If what it names does not fit together.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"{path} is not TOML: {error}") from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    try:
        tables = parse_record(content, ProjectTables)
    except ValueError as error:
        raise FormatError(f"{path}: {error}") from error
    given, published = tables.subscriptions, tables.publications
    if (given.source is None) is not bool(given.logs):
        raise InputError(f"{path}: subscriptions needs either source or logs: give one of them")
    if published.traffic is not None and published.logs:
        raise InputError(f"{path}: publications has traffic and logs: leave one of them out")
    remote = [place for place in msgspec.structs.astuple(tables.outputs) if place and is_url(place)]
    if remote:
        raise InputError(f"{path}: outputs has the URL {remote[0]}: name a path on this machine")
    if tables.routes.objective == "stable" and tables.routes.today is None:
        raise InputError(f"{path}: routes by stable need today, the plan whose trees are in use")
    find(tables.design.algorithm)
    return Project(path, tables)
