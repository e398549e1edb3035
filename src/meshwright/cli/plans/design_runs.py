"""Load, check and design with progress: what `plan`, `compare` and `demo` share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.actions.sources import format_size
from meshwright.cli.output import note, working
from meshwright.cli.progress_bar import ProgressBar
from meshwright.formatting import counted

if TYPE_CHECKING:
    from meshwright.actions.sources import PlannedSource
    from meshwright.bounds import NodePrices, Prices
    from meshwright.costs.link_costs import LinkCosts
    from meshwright.designs.plan import Parameter, Plan
    from meshwright.filters import PlannedFilters
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay
    from meshwright.store.interest_files import Columns


def load(source: str, columns: Columns | None = None) -> Interest:
    """Load the interest, and print a note about repeated subscriptions."""
    from meshwright.actions.sources import load_interest

    with working(f"reading {source}"):
        interest, notes = load_interest(source, columns)
    for line in notes:
        note(line)
    return interest


FURTHER_PARTS = {
    "prices.parquet": ("a certificate", "--certify"),
    "trees.parquet": ("trees", "meshwright route"),
    "report.html": ("a page", "meshwright report"),
}
"""Parts of a plan that not every plan has, by file: what they are, and how to get them."""


def replace_plan(plan: Plan, out: str, *, page: bool = False) -> None:
    """Write a plan, and print a note about parts of the plan that was there and that this one lacks.

    `page` says that a page follows.
    """
    from meshwright.files.urls import names_in
    from meshwright.store.plans import write_plan

    before = names_in(out)
    write_plan(plan, out)
    lost = {*before}.difference(names_in(out), ["report.html"] if page else [])
    gone = [part for file, part in FURTHER_PARTS.items() if file in lost]
    if gone:
        names, ways = (" and ".join(words) for words in zip(*gone, strict=True))
        note(f"the plan that was in {out} had {names}, and this one does not: use {ways}")


def load_planned(
    source: str,
    columns: Columns | None = None,
    *,
    kind: str | None = None,
    exclude: Sequence[str] | None = None,
    expand: Sequence[str] | None = None,
    skip_unusable: bool = False,
    rates: Path | None = None,
    allow_empty: bool = False,
    remedy: str = "name one that has some",
    json: bool = False,
) -> PlannedSource:
    """Load what is planned of a dataset or file, and print notes.

    An interest without subscriptions ends the command with exit code 1, unless that is allowed.
    """
    from meshwright.actions.sources import TopicChoice, load_source

    choice = TopicChoice(kind, tuple(exclude or ()), tuple(expand or ()), skip_unusable, rates)
    with working(f"reading {source}"):
        loaded = load_source(source, columns, choice, allow_empty=allow_empty, remedy=remedy)
    for line in loaded.notes:
        note(line)
    return loaded


def load_overlay(
    plan: str, source: str, columns: Columns | None = None
) -> tuple[Overlay, PlannedFilters | None]:
    """Load a plan over what it was made for, and its filters; None for plain topics."""
    from meshwright.actions.sources import load_plan

    with working(f"reading {source}"):
        loaded = load_plan(plan, source, columns)
    for line in loaded.notes:
        note(line)
    return loaded.overlay, loaded.filters


def group_lines(filters: PlannedFilters | None) -> list[str]:
    """Say that topics are groups of filters, if they are."""
    if filters is None:
        return []
    held, groups = filters.held.num_topics, filters.groups.num_topics
    said = "one group" if groups == 1 else f"the {groups:,} groups"
    return [f"topics are {said} of {counted(held, 'MQTT filter')}, as planned"]


def load_costs(file: Path | None, interest: Interest, *, metric: bool = False) -> LinkCosts | None:
    """Load the link costs, if a file is given."""
    from meshwright.actions.sources import load_link_costs

    with working(f"reading {file}"):
        return load_link_costs(file, interest, metric=metric)


def chart_title(source: str, interest: Interest) -> str:
    """Return the title of a chart: the name of the source without its folders, and the size."""
    return f"{Path(source).name or source}: {format_size(interest)}"


def split_names(text: str, option: str, example: str) -> list[str]:
    """Split the value of an option at its commas; each name must occur once."""
    from meshwright.errors import InputError

    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputError(f"{option} {text!r} names nothing: name at least one, such as {option} {example}")
    if len(set(names)) < len(names):
        raise InputError(f"{option} {text} names one twice: name each once")
    return names


def split_algorithms(algorithms: str) -> list[str]:
    """Split a list such as 'gm,low'; each name must be a design and occur once."""
    from meshwright.designs.registry import find

    names = split_names(algorithms, "--algorithms", "gm,low")
    for name in names:
        find(name)
    return names


def make(
    interest: Interest,
    algorithm: str,
    given: Mapping[str, Parameter],
    *,
    seed: int = 0,
    threads: int = 1,
    progress: bool = False,
    costs: LinkCosts | None = None,
    certify: bool = False,
    prices: Prices | None = None,
    lowest: NodePrices | None = None,
    reference: Overlay | None = None,
) -> Plan:
    """Design with progress on stderr, on a terminal or if `progress` is forced.

    The plan of a design that ignores costs still gets its total cost.
    """
    from meshwright.designs.design import design
    from meshwright.designs.registry import find

    max_edges = given.get("max_edges")
    goal = max_edges if isinstance(max_edges, int) else None
    with ProgressBar(find(algorithm).title, forced=progress, goal=goal) as drawing:
        weighed = costs if "costs" in find(algorithm).parameters else None
        plan = design(
            interest, algorithm, seed=seed, threads=threads, progress=drawing, costs=weighed,
            certify=certify, prices=prices, lowest=lowest, reference=reference, **given,
        )  # fmt: skip
    return replace(plan, costs=costs)


def ratio_reference(
    interest: Interest, given: Mapping[str, Parameter], *, threads: int, progress: bool
) -> Overlay | None:
    """Return the literal MinMax-ODA that a ratio refers to, for several designs; None without a ratio."""
    if given.get("ratio") is None:
        return None
    from meshwright.designs.by_contribution import literal_minmax

    with ProgressBar("Literal MinMax-ODA", forced=progress) as drawing:
        return literal_minmax(interest, threads=threads, progress=drawing)


def add_certificate(
    plan: Plan,
    threads: int,
    *,
    progress: bool,
    known: Sequence[Plan] = (),
    seconds: float | None = None,
) -> Plan:
    """Return the plan with certified lower bounds; those of `known` plans are used again."""
    from meshwright.designs.proofs import certify

    with ProgressBar("Certificate", forced=progress) as drawing:
        return certify(plan, known=known, seconds=seconds, threads=threads, progress=drawing)


def with_progress(*, forced: bool) -> dict[str, Any]:
    """Return how `advise` makes plans and proves their bounds here: with progress on stderr."""
    running = {"seed", "threads", "certify", "prices", "lowest"}

    def make_plan(interest: Interest, algorithm: str, **given: Any) -> Plan:
        parameters = {name: value for name, value in given.items() if name not in running}
        rest = {name: value for name, value in given.items() if name in running}
        return make(interest, algorithm, parameters, progress=forced, **rest)

    def prove(plan: Plan, **given: Any) -> Plan:
        return add_certificate(plan, progress=forced, **given)

    return {"make": make_plan, "prove": prove}


def described(plan: Plan) -> dict[str, Any]:
    """Return the fields of a plan in a JSON answer."""
    return {
        "algorithm": plan.algorithm,
        "parameters": plan.stated_parameters,
        "seed": plan.seed,
        **plan.figures,
    }
