"""The designs of icdcs16 under a budget (Eq. 36), and certified limits on what any overlay supports."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

import meshwright as mw
from meshwright.experiments.checks import is_below
from meshwright.experiments.paper import BEST_STEPS
from meshwright.experiments.plots import curve
from meshwright.experiments.results import Results, Row, Spread
from meshwright.measure.connectivity import component_of_slots, merges_needed

WORKLOADS = ("expo", "zipf", "unif")
NAMES = {"expo": "exponential", "zipf": "Zipf", "unif": "uniform"}
ORDER = ("gpa", "gpm", "spidercastm", "randomm")
TITLES = {
    "gpa": "GPA",
    "gpm": "GPM",
    "spidercastm": "SpiderCastM",
    "randomm": "RandomM",
    "randoma": "RandomA",
    "minmax": "MinMax-ODA",
    "gm": "GM",
    "gpm-useful": "ours: GPM, useful links only",
    "best": "ours: best by degree, complete",
    "bound": "ours: certified bound under the degree budget",
}
MOST_NODES = 3000
"""Nodes up to which we compute certified limits, which look at all pairs."""
MOST_PERCENT = 40
"""Budgets up to which we compute them: beyond, complete overlays fit and the limit is 1."""
EXPONENT = 2.0
"""The power law of subscription sizes, which the paper does not state."""


def synthetic(
    workload: str, nodes: int, topics: int, low: int, high: int, *, seed: int, exponent: float = EXPONENT
) -> mw.Interest:
    """Make a workload of section IX-B: sizes from `low` to `high` by a power law; Zipf has exponent 2."""
    more: dict[str, Any] = {"alpha": 2.0} if workload == "zipf" else {}
    make = mw.workloads.WORKLOADS[workload]
    return make(nodes, topics, min_size=low, max_size=high, exponent=exponent, seed=seed, **more)


def under_budget(interest: mw.Interest, max_edges: int, max_degree: int, seed: int) -> list[Row]:
    """Measure all designs with given budgets, the degree of a complete MinMax-ODA, and what is ours."""
    plans = {
        "gpa": mw.design(interest, "gpa", max_edges=max_edges),
        "gpm": mw.design(interest, "gpm", max_degree=max_degree, literal=True),
        **at_random(interest, max_degree, seed),
        "minmax": mw.design(interest, "minmax"),
        "gpm-useful": mw.design(interest, "gpm", max_degree=max_degree),
    }
    rows: list[Row] = [{"design": name, **figures(plan.overlay)} for name, plan in plans.items()]
    if interest.num_nodes <= MOST_NODES:
        rows.append({"design": "bound", **most_support(plans["gpm-useful"].overlay, max_edges, max_degree)})
    return rows


def at_random(interest: mw.Interest, max_degree: int, seed: int) -> dict[str, mw.Plan]:
    """Build the two designs with random choices; RandomM takes any pairs: the paper says 'arbitrarily'."""
    return {
        "spidercastm": mw.design(interest, "spidercastm", max_degree=max_degree, seed=seed),
        "randomm": mw.design(interest, "randomm", max_degree=max_degree, arbitrary=True, seed=seed),
    }


def under_ratios(interest: mw.Interest, percents: Sequence[int], seed: int) -> list[Row]:
    """Measure all designs with budgets that are shares, in percent, of the literal MinMax-ODA's.

    GPA and GPM with a smaller budget are prefixes of one run, so each runs once.
    """
    runs = {
        "gm": mw.design(interest, "gm").overlay,
        "minmax": mw.design(interest, "minmax", literal=True).overlay,
        "minmax-useful": mw.design(interest, "minmax").overlay,
        "best": mw.design(interest, "best", objective="degree", steps=BEST_STEPS, seed=seed).overlay,
    }
    complete = {name: {"design": name, **figures(overlay)} for name, overlay in runs.items()}
    links, degree = complete["minmax"]["edges"], complete["minmax"]["max_degree"]
    complete["best"]["percent"] = 100 * complete["best"]["max_degree"] / max(degree, 1)
    rows: list[Row] = list(complete.values())
    for percent in percents:
        m, d = percent * links // 100, percent * degree // 100
        built = {
            "gpa": runs["gm"].prefix(min(m, len(runs["gm"]))),
            "gpm": _below_degree(runs["minmax"], d),
            "gpm-useful": _below_degree(runs["minmax-useful"], d),
            **{name: plan.overlay for name, plan in at_random(interest, d, seed).items()},
            "randoma": mw.design(interest, "randoma", max_edges=m, arbitrary=True, seed=seed).overlay,
        }
        budget = {"percent": float(percent), "m": m, "d": d}
        rows += [{"design": name, **budget, **figures(overlay)} for name, overlay in built.items()]
        if interest.num_nodes <= MOST_NODES and percent <= MOST_PERCENT:
            rows.append({"design": "bound", **budget, **most_support(built["gpm-useful"], m, d)})
    return rows


def figures(overlay: mw.Overlay) -> Row:
    """Return the figures that the paper plots or mentions."""
    degrees = mw.measure.degrees(overlay)
    return {
        "support": mw.measure.support(overlay),
        "edges": len(overlay),
        "average_degree": degrees.average,
        "max_degree": degrees.maximum,
    }


def _below_degree(overlay: mw.Overlay, limit: int) -> mw.Overlay:
    """Return the longest prefix of an overlay whose maximum degree keeps to a limit."""
    degree = [0] * overlay.interest.num_nodes
    for place, (u, v) in enumerate(zip(overlay.u.tolist(), overlay.v.tolist(), strict=True)):
        degree[u] += 1
        degree[v] += 1
        if degree[u] > limit or degree[v] > limit:
            return overlay.prefix(place)
    return overlay


def draw_designs(
    panel: Any, results: Results, x: str, *, papers: Sequence[str] = ORDER, ours: Sequence[str] = ()
) -> None:
    """Draw support by x: a curve for each design of the paper, and for each of ours."""
    for number, design in enumerate(papers):
        curve(panel, results.where(design=design), x, "support", label=TITLES[design], number=number)
    for design in ours:
        curve(panel, results.where(design=design), x, "support", label=TITLES[design], ours=True)


def ordered(results: Results, x: str, *, label: str = "", above: Sequence[str] = ORDER) -> dict[str, float]:
    """Compare each design's mean support with the next one's, at each x: above it, or both complete."""
    curves = {name: results.where(design=name).by(x, "support") for name in above}
    prefix = f"{label}, " if label else ""
    return {
        f"{prefix}{TITLES[one]} above {TITLES[two]} at {at:g}": min(curves[two][at]) == 1
        or is_below(curves[two][at], values)
        for one, two in pairwise(above)
        for at, values in curves[one].items()
    }


def means(results: Results, x: str, column: str = "support") -> dict[Any, float]:
    """Return the mean of a column at each x."""
    return {at: Spread.of(values).mean for at, values in results.by(x, column).items()}


def gaps(results: Results, upper: str, lower: str, x: str) -> dict[Any, list[float]]:
    """Return how much more one design supports than another, by x and seed by seed."""
    one, two = (results.where(design=name).by(x, "support") for name in (upper, lower))
    return {at: [a - b for a, b in zip(values, two[at], strict=True)] for at, values in one.items()}


def most_support(overlay: mw.Overlay, max_edges: int, max_degree: int) -> Row:
    """Return limits on the support of all overlays with this number of links, or this maximum degree.

    Contributions never grow as links are added. So an overlay E* connects at most what a known overlay S
    connects, plus what the links of E* would contribute to S: at most the `max_edges` largest contributions
    to S, or half the sum over all nodes of their `max_degree` largest. S is the given overlay or none; the
    lower limit counts.
    """
    interest = overlay.interest
    mergeable = merges_needed(interest)
    if not mergeable:  # nothing to connect: by definition, support is 1
        return {"support": 1.0, "support_by_links": 1.0}
    found = []
    for known in (overlay.prefix(0), overlay):
        merged = int(known.contribution.sum(dtype=np.int64))
        weight = contributions_of_all_pairs(known)
        top = np.sort(weight, axis=1)[:, ::-1]
        pairs = np.sort(weight[np.triu_indices(len(weight), 1)])[::-1]
        by_degree = merged + int(top[:, :max_degree].sum()) / 2
        by_links = merged + int(pairs[:max_edges].sum())
        found.append((by_links, by_degree))
    by_links, by_degree = (min(limits) / mergeable for limits in zip(*found, strict=True))
    return {"support": min(by_degree, 1.0), "support_by_links": min(by_links, 1.0)}


def contributions_of_all_pairs(overlay: mw.Overlay) -> NDArray[Any]:
    """Return a square matrix: how many topics each pair of nodes would merge if it were linked now."""
    from scipy.sparse import csr_array

    interest = overlay.interest
    nodes, slots = interest.num_nodes, interest.num_subscriptions
    ones = np.ones(slots, dtype=np.int32)
    shared = csr_array((ones, interest.node_topics, interest.node_ptr), shape=(nodes, interest.num_topics))
    joined = csr_array((ones, component_of_slots(overlay), interest.node_ptr), shape=(nodes, slots))
    weight: NDArray[Any] = (shared @ shared.T - joined @ joined.T).toarray()
    np.fill_diagonal(weight, 0)
    return weight
