"""Plan: an overlay together with how it was made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from meshwright import measure
from meshwright.bounds import DegreeProof, Prices, gap
from meshwright.costs.link_costs import LinkCosts, total_cost
from meshwright.formatting import amount, counted, duration, excess, percentage
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from meshwright.filters.filter_plan import PlannedFilters

Parameter: TypeAlias = int | float | str | None


@dataclass(frozen=True, eq=False)
class Plan:
    """The result of `design`: the overlay, the algorithm with its parameters, and the time it took.

    >>> import meshwright as mw
    >>> plan = mw.design({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}}, "low", k=3)
    >>> plan
    Plan(low: 2 links over 3 nodes)
    >>> plan.figures["max_degree"]
    2
    """

    overlay: Overlay
    algorithm: str
    parameters: Mapping[str, Parameter]
    seed: int
    seconds: float
    """How long the algorithm took, without the compilation of its kernels."""
    costs: LinkCosts | None = None
    """The link costs, whether or not the algorithm used them."""
    prices: Prices | None = None
    """A proof of the number of links needed, if requested."""
    degree_proof: DegreeProof | None = None
    """A proof of the links needed at its degree, and of the lowest maximum degree, if it limits degrees."""
    solver_bound: int | None = None
    """The lower bound on links that the algorithm's own solver reports, if it has one."""
    filters: PlannedFilters | None = None
    """The MQTT filters whose groups are the topics of the overlay; None for plain topics."""
    solver_bound_at_degree: int | None = None
    """The same for overlays with no higher maximum degree, if the solver looked for the lowest one."""

    @cached_property
    def figures(self) -> dict[str, int | float]:
        """The figures of `plan.json`: nodes, topics, edges, average and maximum degree, support, seconds.

        Those of a ring per topic include `parallel_edges` and `parallel_average_degree`, which count a link
        once for each topic that uses it. With link costs they include the total cost. With prices they
        include the certified lower bound and, if every topic is connected, the gap to it or to the bound of a
        solver, whichever is higher; with a proof of degrees, the same at the degree `at_degree`, and the
        lowest maximum degree possible.
        """
        overlay = self.overlay
        degrees = measure.degrees(overlay)
        support = measure.support(overlay)
        optional = {
            **(self._parallel_figures() if self.algorithm == "ring" else {}),
            "total_cost": None if self.costs is None else total_cost(overlay, self.costs),
            "lower_bound": None if self.prices is None else self.prices.bound,
            "gap": None if self.known_bound is None or support < 1 else gap(len(overlay), self.known_bound),
            "bound_rising": None if self.prices is None else self.prices.rising,
            **self._degree_figures(complete=support == 1),
            "solver_bound": self.solver_bound,
            "solver_bound_at_degree": self.solver_bound_at_degree,
        }
        return {
            "nodes": overlay.interest.num_nodes,
            "topics": overlay.interest.num_topics,
            "edges": len(overlay),
            "average_degree": degrees.average,
            "max_degree": degrees.maximum,
            "support": support,
            "seconds": self.seconds,
            **{name: value for name, value in optional.items() if value is not None},
        }

    @property
    def known_bound(self) -> int | None:
        """The highest lower bound on links that is known, certified or by the solver."""
        certified = None if self.prices is None else self.prices.bound
        return max((own for own in (certified, self.solver_bound) if own is not None), default=None)

    def _degree_figures(self, *, complete: bool) -> dict[str, int | float | None]:
        """Return what is proven of overlays with a limited degree."""
        if self.degree_proof is None:
            return {}
        links, lowest = self.degree_proof
        known = max(links.bound, self.solver_bound_at_degree or 0)
        return {
            "at_degree": links.degree,
            "bound_at_degree": links.bound,
            "gap_at_degree": gap(len(self.overlay), known) if complete else None,
            "degree_bound": lowest.bound,
        }

    def _parallel_figures(self) -> dict[str, int | float]:
        """Return the figures of rings that share no links."""
        from meshwright.designs.rings_and_stars import parallel_links

        interest = self.overlay.interest
        links = parallel_links(interest)
        return {"parallel_edges": links, "parallel_average_degree": 2 * links / max(1, interest.num_nodes)}

    @property
    def stated_parameters(self) -> dict[str, Parameter]:
        """The parameters as JSON values; infinity becomes a string."""
        return {
            name: str(value) if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in self.parameters.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of a JSON answer."""
        return {
            "algorithm": self.algorithm,
            "parameters": self.stated_parameters,
            "seed": self.seed,
            **self.figures,
        }

    def summary(self, *, proving: float | None = None) -> str:
        """Return the figures as a few lines of text; `proving` is how long the certificate took, if known."""
        figures = self.figures
        parameters = ", ".join(f"{name} = {value}" for name, value in self.parameters.items())
        return "\n".join(
            [
                f"{self.algorithm}{f' ({parameters})' if parameters else ''}: "
                f"{counted(int(figures['edges']), 'link')} over {counted(int(figures['nodes']), 'node')} "
                f"and {counted(int(figures['topics']), 'topic')}",
                f"degree: {figures['average_degree']:.2f} on average, {figures['max_degree']} at most",
                f"support: {percentage(figures['support'])} of what a complete overlay connects",
                *([] if self.costs is None else [f"cost: {amount(figures['total_cost'])} in all"]),
                *self.proof_lines(),
                f"time: {duration(self.seconds)}{self._time_of_proof(proving)}",
            ]
        )

    def _time_of_proof(self, proving: float | None) -> str:
        if self.prices is None:
            return ""
        if proving is None:
            return " without the certificate"
        return f", and {duration(max(proving, 0.0))} for the certificate"

    def __repr__(self) -> str:
        size = f"{counted(len(self.overlay), 'link')} over {counted(int(self.figures['nodes']), 'node')}"
        return f"Plan({self.algorithm}: {size})"

    def _repr_html_(self) -> str:
        from meshwright.notebook import html_bars, html_table

        rows = [line.partition(": ")[::2] for line in self.summary().splitlines()]
        degrees = measure.degrees(self.overlay).distribution
        bars = html_bars(degrees.tolist(), label=f"nodes with 0 to {max(len(degrees) - 1, 0)} links")
        return html_table(rows) + bars

    # -- conversion: the upper rooms are reached through the package, whose names are public ----------

    def edges_table(self) -> pa.Table:
        """Return the links as an Arrow table `rank, u, v, contribution` with node names."""
        return self.overlay.to_arrow()

    def to_pandas(self) -> Any:
        """Return the links as a pandas DataFrame `rank, u, v, contribution` with node names."""
        return self.overlay.to_pandas()

    def to_networkx(self) -> Any:
        """Return the overlay as a networkx Graph; edges carry `rank` and `contribution`."""
        return self.overlay.to_networkx()

    def save(self, path: str | Path) -> Path:
        """Write the plan as a folder, whole or not at all; it replaces a plan that is already there."""
        import meshwright as mw

        return mw.save(self, path)

    def plot(self) -> Any:
        """Draw degrees and support, and return the matplotlib figure."""
        import meshwright as mw

        return mw.plot(self)

    def report(self, path: str | Path = "report.html") -> Path:
        """Write the page of the plan, one HTML file, and return its path."""
        import meshwright as mw

        return mw.report(self, path)

    def proof_lines(self) -> list[str]:
        """Return lines that say how close the plan is to the fewest links possible, as far as known."""
        figures, lines = self.figures, []
        if "lower_bound" in figures:
            needed = f"connecting every topic needs at least {figures['lower_bound']:,}"
            near = (
                f"at most {excess(figures['gap'])} above the fewest links possible; "
                if "gap" in figures and figures["lower_bound"] == self.known_bound
                else ""
            )
            lines += [f"certified: {near}{needed}", *rising_lines(figures.get("bound_rising"))]
        lines += degree_lines(figures)
        limit = f" with at most {counted(int(figures['max_degree']), 'link')} per broker"
        for name, where in (("solver_bound", ""), ("solver_bound_at_degree", limit)):
            if name not in figures:
                continue
            above = gap(len(self.overlay), int(figures[name]))
            near = (
                "nothing is proven"
                if above is None
                else f"at most {excess(above)} above the fewest links possible{where}"
            )
            lines.append(f"by the solver: {f'no overlay{where} has fewer links' if above == 0 else near}")
        return lines


def rising_lines(rising: float | None, consequence: str = "`meshwright certify` continues it") -> list[str]:
    """Return a line that says that a limit of time cut the certificate, if it did.

    >>> rising_lines(12.0)
    ['the certificate was stopped by the time limit while still rising, by 12 links a second: `meshwright \
certify` continues it']
    >>> rising_lines(None), rising_lines(0)
    ([], ['the certificate was stopped by the time limit: `meshwright certify` continues it'])
    """
    if rising is None:
        return []
    still = f" while still rising, by {amount(rising)} links a second" if rising else ""
    return [f"the certificate was stopped by the time limit{still}: {consequence}"]


def degree_lines(figures: Mapping[str, Any]) -> list[str]:
    """Return lines that say what is proven of overlays with as few links per broker, if anything is.

    >>> degree_lines({"at_degree": 4, "bound_at_degree": 50, "gap_at_degree": 0.1, "degree_bound": 4})[1]
    'certified: no overlay that connects every topic has a maximum degree below 4'
    """
    if "degree_bound" not in figures:
        return []
    degree, lowest = figures["at_degree"], figures["degree_bound"]
    lines = [f"certified: no overlay that connects every topic has a maximum degree below {lowest:,}"]
    if degree < lowest:
        return [*lines, f"certified: at most {counted(degree, 'link')} per broker cannot connect every topic"]
    limit = f"with at most {counted(degree, 'link')} per broker"
    near = (
        f"at most {excess(figures['gap_at_degree'])} above the fewest links possible {limit}; "
        if "gap_at_degree" in figures
        and figures.get("solver_bound_at_degree", 0) <= figures["bound_at_degree"]
        else f"{limit}, "
    )
    needed = f"connecting every topic needs at least {counted(figures['bound_at_degree'], 'link')}"
    return [f"certified: {near}{needed}{' then' if near.startswith('at') else ''}", *lines]
