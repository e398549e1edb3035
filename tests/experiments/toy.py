"""A paper with one figure of four cells, which takes no time: for tests of the framework."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from meshwright.experiments import paper
from meshwright.experiments.checks import Claims, describe_change, rises
from meshwright.experiments.paper import Case, Figure, Paper, grid
from meshwright.experiments.plots import curve, finish
from meshwright.experiments.results import Results, Row

calls: list[str] = []
"""The cells that were computed."""


def cell(case: Case) -> list[Row]:
    """Return one row; `nodes` of a graph if there is one."""
    calls.append(str(case))
    if case["nodes"] == 40 and os.environ.get("TOY_KILLED"):
        os.kill(os.getpid(), signal.SIGKILL)
    graph = case.graph("friends")
    return [{"degree": case["nodes"] * 1.5 + case.seed, "graph": graph.num_nodes if graph else None}]


def drawn(results: Results, axes: list[Any]) -> None:
    """Draw the one curve."""
    curve(axes[0], results, "nodes", "degree", label="toy")
    finish(axes[0], "Toy", "nodes", "degree")


def claims(results: Results, claims: Claims) -> None:
    """State a claim that holds, and one that does not and has markup in it."""
    points = results.by("nodes", "degree")
    claims.check("rises", "It rises", paper="rises", ours=describe_change(points), held=rises(points))
    claims.check(
        "high", "It <b>exceeds</b> 1000 | always", paper="> 1000", ours=results.spread("degree"),
        held={"it is below": False}, reason="It is a toy & nothing more.",
    )  # fmt: skip


FIGURE = Figure(
    "fig1",
    "A toy <figure>",
    "It rises.",
    drawn,
    claims,
    cell,
    quick=grid(seeds=2, nodes=(20, 40)),
    full=grid(seeds=2, nodes=(20, 40, 80)),
    graphs=("friends",),
)
PAPER = Paper(
    "toy",
    "Toys & games",
    "Nobody (2020)",
    (FIGURE, Figure("fig2", "Same cells", "", drawn, claims, table="fig1")),
)


def install() -> None:
    """Make it the only paper."""
    paper.papers = lambda: {"toy": PAPER}  # type: ignore[assignment]


if __name__ == "__main__":
    from meshwright.experiments import reproduce

    install()
    reproduce("toy", Path(os.environ["TOY_OUT"]))
