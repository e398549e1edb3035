"""Plans: an overlay as a folder, with how it was made and for which dataset."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from meshwright.arrow import as_text, to_numpy
from meshwright.errors import InputError, first_five
from meshwright.files.header import (
    PLAN,
    check_digests,
    check_header,
    damaged,
    local_description,
    read_header,
)
from meshwright.files.remote import fetch_folder
from meshwright.files.schema import Count, Figure
from meshwright.files.urls import inside, local_path, naming
from meshwright.filters.filter_plan import FilterChoice, PlannedFilters, plan_filters
from meshwright.overlay import Overlay, unchecked_overlay
from meshwright.plan_tables import EDGES, GROUPS, HOLDERS, GroupTables, LinkTable, TableError
from meshwright.store.plan_parts import (
    EDGES_FILE,
    GROUPS_FILE,
    HOLDERS_FILE,
)
from meshwright.store.tables import read_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from meshwright.interest import Interest

Tables = TypeVar("Tables")


class PlanParameters(Struct):
    """The parameters of a design that limit a plan; others depend on the design."""

    max_edges: Count | None = None
    max_degree: Count | None = None


class PlanFigures(Struct):
    """The figures that every plan states, and the bounds of one with a proof; there may be others."""

    nodes: Figure
    topics: Figure
    edges: Figure
    average_degree: Figure
    max_degree: Figure
    support: Figure
    seconds: Figure
    lower_bound: int | None = None
    at_degree: int | None = None
    bound_at_degree: int | None = None
    degree_bound: int | None = None
    solver_bound: int | None = None
    solver_bound_at_degree: int | None = None


class PlanFilters(Struct, forbid_unknown_fields=True):
    """What was chosen for the MQTT filters of a dataset."""

    kind: Literal["mqtt"]
    excluded: tuple[str, ...]
    expanded: tuple[str, ...]
    skip_unusable: bool
    published: tuple[str, ...]

    @property
    def choice(self) -> FilterChoice:
        """The choice itself."""
        return FilterChoice(self.excluded, self.expanded, self.skip_unusable, self.published)


class PlanRoutes(Struct, forbid_unknown_fields=True):
    """How the trees of a plan were chosen, and what they measure."""

    figures: dict[str, Figure | None]
    objective: str = "hops"
    rates: bool = False
    """Whether loads are at the rates of topics."""


class PlanHeader(Struct, forbid_unknown_fields=True):
    """The contents of `plan.json`."""

    format: str
    schema: int
    algorithm: str
    parameters: PlanParameters
    dataset: str
    figures: PlanFigures
    seed: int = 0
    planned: str | None = None
    """The fingerprint of the groups of filters, which were planned instead of the filters."""
    held: str | None = None
    """The fingerprint of who holds which filter."""
    topics: PlanFilters | None = None
    routes: PlanRoutes | None = None
    files: dict[str, str] = {}
    """The digests of the tables."""


class Fingerprinted(Protocol):
    """A relation, here or on a cluster, that knows its fingerprint."""

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint."""

    def has_fingerprint(self, stated: object) -> bool:
        """Return whether this is its fingerprint, in any schema."""
        ...


@dataclass(frozen=True, eq=False)
class StoredPlan:
    """A stored plan: its path or URL and its metadata; its tables are read when they are used."""

    place: str | Path
    metadata: dict[str, Any]
    """The contents of `plan.json`, as they are."""

    @cached_property
    def header(self) -> PlanHeader:
        """The contents of `plan.json`, checked.

        Raises
        ------
        FormatError
            If a field is missing, unknown or wrong.
        """
        file = inside(self.place, PLAN.file)
        header = check_header(file, self.metadata, PlanHeader)
        nested = [name for name, value in self.figures.items() if isinstance(value, (dict, list))]
        if nested:
            raise damaged(file, f"figures {first_five(nested)} are no numbers")
        return header

    @cached_property
    def path(self) -> Path:
        """Its folder on this machine; a plan at a URL is copied, until this object is forgotten.

        Raises
        ------
        InputError
            If the URL cannot be reached.
        """
        local = local_path(self.place)
        return fetch_folder(self.place, self) if local is None else Path(local)

    def table(self, file: str, schema: pa.Schema) -> pa.Table:
        """Return one of its tables, with the columns of a schema.

        Raises
        ------
        FormatError
            If it is missing or damaged.
        """
        with naming(str(self.place), self.path):
            return read_table(self.path / file, schema)

    @cached_property
    def links(self) -> LinkTable:
        """Its links by name, in their form.

        Raises
        ------
        FormatError
            If they are missing or damaged.
        """
        edges = self.table(EDGES_FILE, EDGES)
        return self.require_form(lambda: LinkTable(edges))

    @property
    def edges(self) -> pa.Table:
        """Its links by name as a table (`rank, u, v, contribution`)."""
        return self.links.table

    @cached_property
    def group_tables(self) -> GroupTables:
        """The groups of its MQTT filters and who holds which, in their form.

        Raises
        ------
        FormatError
            If a table is missing or damaged.
        """
        groups, holders = self.table(GROUPS_FILE, GROUPS), self.table(HOLDERS_FILE, HOLDERS)
        return self.require_form(lambda: GroupTables(groups, holders))

    def require_form(self, make: Callable[[], Tables]) -> Tables:
        """Return tables of this plan in their form; if they are not, the error names the file."""
        try:
            return make()
        except TableError as error:
            raise damaged(inside(self.place, f"{error.table}.parquet"), str(error)) from error

    def check_digests(self) -> None:
        """Check that all tables are those that were written with the description.

        Raises
        ------
        FormatError
            If one is missing or has changed.
        """
        with naming(str(self.place), self.path):
            check_digests(self.path, PLAN, self.metadata)

    @property
    def figures(self) -> dict[str, int | float]:
        """What the plan states of itself."""
        figures: dict[str, int | float] = self.metadata["figures"]
        return figures

    @property
    def routes(self) -> dict[str, Any] | None:
        """What the plan states of its trees; None if it has no trees.

        That is `objective` and `figures` and, if loads are at the rates of topics, `rates`: true.
        """
        return self.metadata.get("routes")

    @property
    def choice(self) -> FilterChoice | None:
        """What was chosen for the MQTT filters of the dataset; None for plain topics."""
        return None if self.header.topics is None else self.header.topics.choice

    def planned_interest(self, interest: Interest) -> Interest:
        """Return the interest that was planned: the dataset's own, or its groups of MQTT filters.

        Raises
        ------
        InputError
            If the plan was made for another dataset.
        """
        filters = self.planned_filters(interest)
        return interest if filters is None else filters.groups

    def planned_filters(self, interest: Interest) -> PlannedFilters | None:
        """Return the filters of the dataset and their groups, as planned.

        None for plain topics, and for the interest in groups itself.

        Raises
        ------
        InputError
            If the plan was made for another dataset.
        """
        self.check_dataset(interest)
        planned = self.header.planned
        if self.choice is None or (planned is not None and interest.has_fingerprint(planned)):
            return None
        return plan_filters(interest, self.choice)

    def check_dataset(self, interest: Fingerprinted) -> None:
        """Refuse a relation that the plan was not made for.

        Raises
        ------
        InputError
            If the plan was made for another dataset.
        """
        stated = (self.header.dataset, self.header.planned)
        if not any(one is not None and interest.has_fingerprint(one) for one in stated):
            raise InputError(
                f"plan {self.place} was made for another dataset (fingerprint "
                f"{self.header.dataset[:12]}…, this one has {str(interest.fingerprint)[:12]}…): "
                "give the one it was made for"
            )

    def overlay_on(self, interest: Interest) -> Overlay:
        """Return the overlay over what was planned of the interest that it was made for.

        Raises
        ------
        InputError
            If the plan was made for another dataset.
        FormatError
            If an edge names an unknown node or occurs twice.
        """
        return self.overlay_over(self.planned_interest(interest))

    def overlay_over(self, interest: Interest) -> Overlay:
        """Return the overlay over an interest, whether or not it was made for it.

        Raises
        ------
        FormatError
            If an edge names an unknown node or occurs twice.
        """
        names = as_text(interest.node_names)
        ends = [pc.index_in(self.edges.column(end), names).combine_chunks() for end in ("u", "v")]
        for end, ids in zip(("u", "v"), ends, strict=True):
            if ids.null_count:
                unknown = self.edges.column(end).filter(ids.is_null()).unique().to_pylist()
                raise damaged(self.place, f"it names the unknown nodes {first_five(unknown)}")
        a, b = (to_numpy(ids).astype(np.int32) for ids in ends)
        contributions = to_numpy(self.edges.column("contribution")).astype(np.int32)
        try:
            return unchecked_overlay(interest, np.minimum(a, b), np.maximum(a, b), contributions)
        except InputError as error:
            raise damaged(self.place, str(error)) from error


def holder_table(filters: PlannedFilters) -> pa.Table:
    """Return who holds which filter: `broker, filter`."""
    return filters.held.to_arrow().rename_columns(HOLDERS.names).cast(HOLDERS)


def read_plan(path: str | Path) -> StoredPlan:
    """Read a plan folder, whose tables must be those that were written, with its links in their form.

    >>> import tempfile
    >>> import meshwright as mw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mw.design({"a": {"x"}, "b": {"x"}}, "gm").save(f"{folder}/plan").name
    ...     read_plan(f"{folder}/plan").figures["edges"]
    'plan'
    1

    Raises
    ------
    InputError
        If nothing is there.
    FormatError
        If it is something else, of a newer schema, or damaged.
    """
    opened = open_plan(path)
    opened.check_digests()
    assert opened.links
    return opened


def open_plan(path: str | Path) -> StoredPlan:
    """Read the metadata of a plan folder.

    Raises
    ------
    InputError
        If nothing is there.
    FormatError
        If it is something else, of a newer schema, or damaged.
    """
    with local_description(path, PLAN) as folder:
        stored = StoredPlan(path, read_header(folder, PLAN))
    assert stored.header
    return stored
