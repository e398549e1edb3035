"""Build an overlay by the name of its design, or several side by side, and prove bounds where asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from meshwright import bounds
from meshwright.arrays import check_threads, check_whole
from meshwright.bounds import NodePrices, Prices
from meshwright.bounds.degree_limits import require_proofs
from meshwright.costs.link_costs import LinkCosts
from meshwright.designs import proofs
from meshwright.designs.by_contribution import literal_minmax
from meshwright.designs.plan import Parameter, Plan
from meshwright.designs.proofs import lowest_of
from meshwright.designs.registry import Design, check_parameters, find, lookup
from meshwright.errors import InputError
from meshwright.formatting import counted, duration, excess, percentage
from meshwright.interest import Interest
from meshwright.jit.announce import working_seconds
from meshwright.overlay import Overlay
from meshwright.progress import Progress, titled


def design(
    interest: Any,
    algorithm: str = "gm",
    *,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
    costs: LinkCosts | None = None,
    certify: bool = False,
    prices: Prices | None = None,
    lowest: NodePrices | None = None,
    reference: Overlay | None = None,
    **parameters: Parameter,
) -> Plan:
    """Design an overlay for an interest, or for whatever `Interest.of` takes, by a named algorithm.

    Parameters left out or None take the design's defaults. `seed` matters to random designs only, `costs` to
    those that weigh a link's contribution against its cost. With `certify` the plan has a proof of how many
    links are needed at least: the given `prices` of the same interest, or prices computed now. A design that
    keeps degrees low also gets a proof of the links needed at its degree, and of the lowest maximum degree,
    unless that is given as `lowest`. The seconds of `best` include the time for both. With a `ratio` the
    budget is that share of what the `reference` takes, by default the literal MinMax-ODA of the interest; the
    plan states the ratio and the budget.

    >>> import meshwright as mw
    >>> interest = mw.Interest.from_dict({"a": {"x", "y"}, "b": {"x", "y"}, "c": {"y"}})
    >>> mw.design(interest, "gm").overlay.edges
    [('a', 'b'), ('a', 'c')]
    """
    interest = Interest.of(interest)
    chosen = find(algorithm)
    seed = _plain(seed)
    check_whole("seed", seed)
    check_threads(threads)
    given = {name: _plain(value) for name, value in parameters.items() if value is not None}
    weighing = {} if costs is None else {"costs": costs}
    if costs is not None and not isinstance(costs, LinkCosts):
        raise InputError(f"costs are {type(costs).__name__}: make them by LinkCosts or load_costs")
    check_parameters([algorithm], {**given, **weighing})
    if "ratio" in given:
        given = _with_budget(chosen, interest, given, reference, threads, progress)
    taken = {name: value for name, value in given.items() if name != "ratio"}
    running = {"threads": threads, "progress": progress} if chosen.greedy else {}
    seeding = {"seed": seed} if chosen.seeded else {}
    if prices is not None or lowest is not None:
        prices, lowest = require_proofs(interest, prices, lowest)
    timing = proofs.Timing(algorithm, given) if certify else None
    if timing is not None:
        if prices is None:
            prices = bounds.prices(
                interest, seconds=timing.for_prices, longest=timing.longest_prices, threads=threads,
                progress=progress,
            )  # fmt: skip
        taken |= timing.for_search
    pricing = {"prices": prices} if chosen.priced else {}
    build = chosen.load()
    if chosen.greedy:
        from meshwright.greedy import level_run  # noqa: F401  all kernels are imported before the clock starts
    began = working_seconds()
    built = build(interest, **taken, **weighing, **running, **seeding, **pricing)
    seconds = working_seconds() - began
    overlay, *needed = (
        (built, None, None)
        if isinstance(built, Overlay)
        else (built.overlay, built.links_needed, built.links_needed_at_degree)
    )
    stated = given if costs is None else {**given, "costs": costs.description}
    plan = Plan(
        overlay, algorithm, stated, seed, seconds, costs,
        solver_bound=needed[0], solver_bound_at_degree=needed[1],
    )  # fmt: skip
    if timing is None:
        return plan
    return proofs.prove_degrees(
        replace(plan, prices=prices),
        lowest=lowest,
        seconds=timing.for_degrees,
        threads=threads,
        progress=progress,
    )


def _with_budget(
    chosen: Design,
    interest: Interest,
    given: dict[str, Any],
    reference: Overlay | None,
    threads: int,
    progress: Progress | None,
) -> dict[str, Any]:
    """Return the parameters with the budget that follows from their ratio (icdcs16, Eq. 36)."""
    from meshwright.designs.by_contribution import budget_of, literal_minmax

    (budget,) = chosen.required  # a design with a ratio needs exactly one budget
    if reference is None:
        reference = literal_minmax(interest, threads=threads, progress=progress)
    reference = Overlay.of(reference)
    if reference.interest.fingerprint != interest.fingerprint:
        raise InputError("the reference was made for another interest: give an overlay of this one")
    return {budget: budget_of(reference, given["ratio"], budget), **given}


def _plain(value: Any) -> Any:
    """Turn numpy scalars into Python numbers, which JSON can hold."""
    return value.item() if isinstance(value, np.generic) else value


USUAL = ("gm", "low", "minmax", "ring")
"""The designs that are compared unless others are named."""
HEAD = (
    "design",
    "links",
    "average degree",
    "highest degree",
    "support",
    "above the fewest, ≤",
    "at that degree, ≤",
    "time",
)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Plans of one interest, in the order in which they were asked for.

    >>> import meshwright as mw
    >>> several = mw.compare({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}}, ["gm", "ring"])
    >>> several["gm"]
    Plan(gm: 2 links over 3 nodes)
    >>> several.table().column("edges").to_pylist()
    [2, 2]
    """

    plans: tuple[Plan, ...]

    def __len__(self) -> int:
        return len(self.plans)

    def __iter__(self) -> Iterator[Plan]:
        return iter(self.plans)

    def __getitem__(self, algorithm: str) -> Plan:
        """Return the plan of an algorithm."""
        for plan in self.plans:
            if plan.algorithm == algorithm:
                return plan
        raise KeyError(f"{algorithm}: compared were {', '.join(plan.algorithm for plan in self.plans)}")

    def __repr__(self) -> str:
        sizes = (f"{plan.algorithm}: {counted(len(plan.overlay), 'link')}" for plan in self)
        return f"Comparison({', '.join(sizes)})"

    def table(self) -> pa.Table:
        """Return the figures of all plans as an Arrow table, a row for each."""
        names = list(dict.fromkeys(name for plan in self for name in plan.figures))
        columns: dict[str, list[Any]] = {"algorithm": [plan.algorithm for plan in self]}
        columns |= {name: [plan.figures.get(name) for plan in self] for name in names}
        return pa.table(columns)

    def plot(self) -> Any:
        """Draw degrees and support of all plans, and return the matplotlib figure."""
        import meshwright as mw

        return mw.plot(*self.plans)

    def _repr_html_(self) -> str:
        from meshwright.notebook import html_table

        return html_table([_cells(plan) for plan in self], head=HEAD)


def _cells(plan: Plan) -> Sequence[str]:
    figures, known = plan.figures, lookup(plan.algorithm)
    return (
        plan.algorithm if known is None else known.title,
        f"{figures['edges']:,}",
        f"{figures['average_degree']:.2f}",
        f"{figures['max_degree']:,}",
        percentage(figures["support"]),
        excess(figures["gap"]) if "gap" in figures else "–",
        excess(figures["gap_at_degree"]) if "gap_at_degree" in figures else "–",
        duration(plan.seconds),
    )


def compare(
    interest: Any,
    algorithms: Sequence[str] = USUAL,
    *,
    certify: bool = False,
    seed: int = 0,
    threads: int = 1,
    costs: LinkCosts | None = None,
    progress: Progress | None = None,
    **parameters: Parameter,
) -> Comparison:
    """Design by several algorithms; each gets the parameters that it takes.

    Every plan has its total cost where `costs` are given, and a `ratio` refers to one and the same run.

    >>> import meshwright as mw
    >>> mw.compare({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}}, ["gm", "ring"])
    Comparison(gm: 2 links, ring: 2 links)

    Raises
    ------
    InputError
        If there is no such algorithm, none takes a parameter, or the interest is invalid.
    """
    if isinstance(algorithms, str):
        algorithms = (algorithms,)
    if not isinstance(algorithms, Iterable):
        raise InputError(f"algorithms are {algorithms!r}: give a list of names, such as ['gm', 'low']")
    chosen = {name: find(name) for name in algorithms}
    if not chosen:
        raise InputError("algorithms names nothing: name at least one, such as ['gm', 'low']")
    check_parameters([*chosen], parameters, several=True)
    interest = Interest.of(interest)
    reference = None
    if parameters.get("ratio") is not None:
        reference = literal_minmax(interest, threads=threads, progress=titled(progress, "Literal MinMax-ODA"))
    plans: list[Plan] = []
    for name, own in chosen.items():
        made = design(
            interest, name, seed=seed, threads=threads, progress=titled(progress, own.title),
            costs=costs if "costs" in own.parameters else None, certify=certify,
            prices=plans[0].prices if plans else None, lowest=lowest_of(plans), reference=reference,
            **own.used(parameters),
        )  # fmt: skip
        plans.append(replace(made, costs=costs))
    return Comparison(tuple(plans))
