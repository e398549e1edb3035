"""What is planned of a dataset, a file or a Python object: its brokers and topics, or groups of MQTT filters.

Whether topics are filters, and which of them overlap, is decided here, for the command line and for Python.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import EmptySourceError, InputError
from meshwright.formatting import counted, hide_secrets
from meshwright.progress import Progress, announce_phase

if TYPE_CHECKING:
    from meshwright.costs.link_costs import LinkCosts
    from meshwright.designs.plan import Plan
    from meshwright.filters.filter_plan import PlannedFilters
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay
    from meshwright.store.interest_files import Columns, Loaded


@dataclass(frozen=True)
class FileColumns:
    """Where a file has its nodes and topics."""

    node: str = "node"
    topic: str = "topic"
    delimiter: str | None = None
    no_header: bool = False

    def resolved(self) -> Columns:
        """Return them as readers take them, checked."""
        from meshwright.store.interest_files import Columns

        return Columns(self.node, self.topic, self.delimiter, not self.no_header)


UNUSABLE = "unusable"
"""Stands for all filters that no bridge can carry, among those to leave out."""


@dataclass(frozen=True)
class TopicChoice:
    """How the topics of a dataset are read, and which MQTT filters are left out or replaced."""

    topic_kind: str | None = None
    """`mqtt` or `plain`; by default as the dataset says, or as they look."""
    exclude: list[str] = field(default_factory=list)
    """Filters that are left out; `UNUSABLE` for all that no bridge can carry."""
    expand: list[str] = field(default_factory=list)
    """Catch-alls that are replaced by the filters that they cover; `auto` for all of them."""
    rates: Path | None = None
    """A folder of traffic, whose published topics replace a catch-all, too."""

    def __post_init__(self) -> None:
        if self.rates is not None and not self.expand:
            raise InputError("--rates names published topics for --expand: add it, or leave --rates out")

    def check_kind(self, kind: str) -> None:
        """Refuse choices of filters for plain topics."""
        if kind != "mqtt" and (self.exclude or self.expand):
            raise InputError(
                "--exclude-topic and --expand apply to MQTT filters: add --topic-kind mqtt, or leave them out"
            )


@dataclass(frozen=True, eq=False)
class PlannedSource:
    """What is planned of a dataset, file or interest."""

    interest: Interest
    """The brokers and their topics, or their groups of overlapping MQTT filters."""
    filters: PlannedFilters | None = None
    """The filters and their groups; None for plain topics."""
    name: str = ""
    """The dataset or file, as it was named."""
    guessed: bool = False
    """Whether topics count as filters only because some have wildcards."""
    notes: tuple[str, ...] = ()
    """What was found on the way."""

    @property
    def source(self) -> Interest:
        """The interest of the dataset, with its topics as they are."""
        return self.interest if self.filters is None else self.filters.source

    @property
    def size(self) -> str:
        """Its name and what is planned, in words."""
        return f"{self.name}: {format_size(self.interest)}"

    @property
    def title(self) -> str:
        """The title of a chart: the name without its folders, and the size."""
        return f"{Path(self.name).name or self.name}: {format_size(self.interest)}"

    @property
    def dataset(self) -> str:
        """The fingerprint of the dataset."""
        return self.source.fingerprint

    @property
    def lines(self) -> list[str]:
        """Lines for people about the filters."""
        if self.filters is None:
            return []
        guessed = "topics have wildcards, so they are MQTT filters; for plain names add --topic-kind plain"
        return [*([guessed] if self.guessed else []), *self.filters.report()]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of a JSON answer about the filters."""
        return {} if self.filters is None else {"topics_planned": self.filters.figures()}

    def planned(self, plan: Plan) -> Plan:
        """Return a plan of this interest with the filters that its groups stand for."""
        return plan if self.filters is None else replace(plan, filters=self.filters)

    def rebase(self, costs: LinkCosts | None) -> LinkCosts | None:
        """Return link costs, made for the source, as those of what is planned."""
        return costs if costs is None or self.filters is None else costs.rebase(self.interest)


def group_topics(interest: Any, choice: TopicChoice | None = None) -> PlannedSource:
    """Return what is planned of an interest, or of whatever `Interest.of` takes.

    Topics of the kind `mqtt` are joined into groups of overlapping filters; plain topics stay as they are.

    >>> from meshwright.interest import Interest
    >>> group_topics(Interest.of({"a": {"x/#"}, "b": {"x/y"}}, kind="mqtt")).interest
    Interest(2 nodes, 1 topic, 2 subscriptions)
    """
    from meshwright.filters.filter_plan import FilterChoice, plan_filters
    from meshwright.interest import Interest
    from meshwright.names import MQTT
    from meshwright.store.traffic import read_traffic

    choice = choice or TopicChoice()
    interest = Interest.of(interest)
    choice.check_kind(interest.kind)
    if interest.kind != MQTT:
        return PlannedSource(interest)
    published = (
        () if choice.rates is None else read_traffic(choice.rates).channels.column("channel").to_pylist()
    )
    filters = plan_filters(
        interest,
        FilterChoice(
            tuple(name for name in choice.exclude if name != UNUSABLE),
            tuple(choice.expand),
            UNUSABLE in choice.exclude,
            tuple(published),
        ),
    )
    return PlannedSource(filters.groups, filters)


@dataclass(frozen=True)
class Source:
    """A dataset or file, and how it is read."""

    path: str
    columns: FileColumns = FileColumns()
    topics: TopicChoice = field(default_factory=TopicChoice)


def load_source(
    source: Source,
    *,
    allow_empty: bool = False,
    remedy: str = "name one that has some",
    progress: Progress | None = None,
) -> PlannedSource:
    """Load what is planned of a dataset or file.

    Raises
    ------
    EmptySourceError
        If it has no subscriptions, unless that is allowed; `remedy` says what to do then.
    InputError
        If nothing is there, or the choice does not fit the topics.
    FormatError
        If the content does not match its format.
    """
    from meshwright.names import MQTT

    loaded = _load(source.path, source.columns, source.topics.topic_kind, progress)
    if not allow_empty and not loaded.interest.num_subscriptions:
        raise EmptySourceError(source.path, remedy)
    if loaded.interest.kind == MQTT:
        announce_phase(progress, "comparing filters")
    planned = group_topics(loaded.interest, source.topics)
    notes = _notes(source.path, loaded.interest)
    return replace(planned, name=hide_secrets(source.path), guessed=loaded.guessed, notes=notes)


def load_interest(
    source: str | Path, columns: FileColumns | None = None, *, progress: Progress | None = None
) -> tuple[Interest, tuple[str, ...]]:
    """Load the subscriptions of a dataset or file as they are, and return notes about them."""
    interest = _load(source, columns, None, progress).interest
    return interest, _notes(source, interest)


def _load(
    source: str | Path, columns: FileColumns | None, kind: str | None, progress: Progress | None
) -> Loaded:
    from meshwright.names import check_topic_kind
    from meshwright.store.interest_files import read_source

    check_topic_kind(kind)
    announce_phase(progress, f"reading {source}")
    return read_source(source, (columns or FileColumns()).resolved(), kind)


def _notes(source: str | Path, interest: Interest) -> tuple[str, ...]:
    if not interest.duplicates:
        return ()
    return (f"dropped {counted(interest.duplicates, 'repeated subscription')} of {source}",)


@dataclass(frozen=True, eq=False)
class LoadedPlan:
    """A stored plan over what it was made for."""

    overlay: Overlay
    filters: PlannedFilters | None
    """The filters whose groups are the topics of the overlay; None for plain topics."""
    notes: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """A line for people that topics are groups of filters, if they are."""
        if self.filters is None:
            return []
        held, groups = self.filters.held.num_topics, self.filters.groups.num_topics
        named = "one group" if groups == 1 else f"the {groups:,} groups"
        return [f"topics are {named} of {counted(held, 'MQTT filter')}, as planned"]


def load_plan(
    plan: str | Path,
    source: str | Path,
    columns: FileColumns | None = None,
    *,
    progress: Progress | None = None,
) -> LoadedPlan:
    """Load a plan over what was planned of the subscriptions that it was made for."""
    from meshwright.names import PLAIN
    from meshwright.store.plans import read_plan

    stored = read_plan(plan)  # a wrong path or a damaged plan is found before the data is read
    interest, notes = load_interest(source, columns, progress=progress)
    filters = stored.planned_filters(interest)
    planned = interest.with_kind(PLAIN) if filters is None else filters.groups
    return LoadedPlan(stored.overlay_on(planned), filters, notes)


def load_link_costs(
    file: str | Path | None,
    interest: Interest,
    *,
    metric: bool = False,
    progress: Progress | None = None,
) -> LinkCosts | None:
    """Load the costs of links, if a file is given; `metric` refuses costs with cheaper detours."""
    from meshwright.store.costs import load_costs

    if file is None:
        if metric:
            raise InputError("--metric applies to link costs: add --costs, or leave it out")
        return None
    announce_phase(progress, f"reading {file}")
    return load_costs(file, interest, check_triangle=metric)


def format_size(interest: Interest) -> str:
    """Return the size of an interest in words."""
    return (
        f"{counted(interest.num_nodes, 'broker')}, {counted(interest.num_topics, 'topic')}, "
        f"{counted(interest.num_subscriptions, 'subscription')}"
    )
