"""The algorithms of cbps as the paper prints them, ours beside them, and the cells that measure costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from meshwright.experiments.paper import Case
from meshwright.experiments.results import Results, Row

if TYPE_CHECKING:
    from meshwright.content import ContentPlan, Workload

LETTER = {
    "packing": "greedy packing",
    "clustering-sum": "clustering, by sum",
    "steiner-literal": "mixing, Algorithm 3",
}
"""The paper's three, with their titles: Algorithms 1, 2 and 3 as they are printed."""
OURS = {
    "clustering": "ours: clustering, by mean",
    "literal-argmax": "ours: Algorithm 3, heaviest broker",
    "steiner": "ours: mixing, a tree per channel",
    "descent": "ours: descent",
}
TITLES = {"random": "random", **LETTER, **OURS}
OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "clustering-sum": ("clustering", {"sum": True}),
    "literal-argmax": ("steiner-literal", {"argmax": True}),
    "steiner": ("steiner", {"argmax": True}),
}
"""Algorithms that are another one with options."""
ONE_CHANNEL = 0.0
"""The length that stands for: every user subscribes to one channel."""


def draw_workload(case: Case) -> Workload:
    """Draw a network of a case: one broker for every 100 users, 100 channels."""
    from meshwright import content

    return content.synthetic(
        case["users"],
        model=case["model"],
        length=case["length"] or None,
        ratio=case["ratio"],
        seed=case.seed,
    )


def run(workload: Workload, name: str, *, seed: int, steps: int = 0) -> ContentPlan:
    """Run an algorithm of `TITLES`; descent looks at `steps` users and channels."""
    from meshwright import content

    algorithm, options = OPTIONS.get(name, (name, {}))
    if name == "descent":
        options = {"steps": steps}
    return content.assign(workload, algorithm, seed=seed, **options)


def cost_cell(case: Case) -> list[Row]:
    """Measure the cost reduction of all algorithms on one network; descent only where a case has steps."""
    workload = draw_workload(case)
    names = ["random", *LETTER, *OURS]
    if not case["steps"]:
        names.remove("descent")
    rows: list[Row] = []
    for name in names:
        plan = run(workload, name, seed=case.seed, steps=case["steps"])
        figures = plan.figures
        columns = ("crr", "cost", "core_cost", "core_share", "subscribers_per_channel")
        rows.append({"algorithm": name} | {column: figures[column] for column in columns})
    return rows


def curves(results: Results, x: str, column: str) -> dict[str, dict[Any, list[float]]]:
    """Return a column by x for every algorithm."""
    return {name: results.where(algorithm=name).by(x, column) for name in results.values("algorithm")}


def means(results: Results, names: list[str], column: str = "crr") -> str:
    """Spell the means of a column for some algorithms."""
    return ", ".join(f"{TITLES[name]} {results.where(algorithm=name).mean(column):.2f}" for name in names)
