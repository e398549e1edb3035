"""Several designs of one interest side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from meshwright.costs.link_costs import LinkCosts
from meshwright.designs.by_contribution import literal_minmax
from meshwright.designs.design import design
from meshwright.designs.plan import Parameter, Plan
from meshwright.designs.proofs import lowest_of
from meshwright.designs.registry import check_parameters, find
from meshwright.errors import InputError
from meshwright.formatting import counted, duration, excess, percentage
from meshwright.interest import Interest
from meshwright.progress import Progress, titled

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
    figures = plan.figures
    return (
        find(plan.algorithm).title,
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
