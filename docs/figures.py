"""Print the measured tables of these pages that `make bench` does not make: `python docs/figures.py NAME`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

import meshwright as mw
from meshwright import measure
from meshwright.churn import LiveOverlay, Policy, random_churn, replay
from meshwright.costs.link_costs import LinkCosts
from meshwright.designs.registry import find
from meshwright.greedy import grow, rules

SEEDS = (0, 1, 2)
MIXED = {"min_size": 10, "max_size": 90}
MADE: dict[str, Callable[..., mw.Interest]] = {
    "uniform": mw.workloads.unif,
    "Zipf 2.0": partial(mw.workloads.zipf, alpha=2.0),
    "exponential": mw.workloads.expo,
}


def link_costs() -> Iterator[list[str]]:
    """Links that cost by distance: designs that weigh it, and the same that do not."""
    for algorithm in ("gm", "low"):
        for weighed in (False, True):
            found = []
            for seed in SEEDS:
                interest = mw.workloads.zipf(1000, 100, size=10, seed=seed)
                x, y = np.random.Generator(np.random.PCG64(seed)).random((2, 1000))
                costs = LinkCosts.from_coordinates(interest, interest.node_names.to_pylist(), x, y)
                overlay = mw.design(interest, algorithm, costs=costs if weighed else None).overlay
                total = float(costs.of(overlay.u, overlay.v).sum())
                found.append((len(overlay), measure.degrees(overlay).maximum, total))
            title = find(algorithm).title + (" by cost" if weighed else "")
            yield [title, *(f"{value:,.0f}" for value in np.mean(found, axis=0))]


def resilience() -> Iterator[list[str]]:
    """How many links it takes that any one broker may fail, over GM's."""
    cases: list[tuple[int, int, dict[str, int]]] = [(1000, 100, {"size": 10}), (2000, 200, MIXED)]
    for nodes, topics, sizes in cases:
        for popularity, make in MADE.items():
            interest = make(nodes, topics, seed=0, **sizes)
            plans: list[dict[str, Any]] = [
                {"algorithm": "gm"},
                {"algorithm": "resilient"},
                {"algorithm": "gm", "rounds": 2},
            ]
            once, resilient, twice = (len(mw.design(interest, **plan).overlay) for plan in plans)
            more_links = [f"{100 * (links / once - 1):.0f} %" for links in (resilient, twice)]
            yield [f"{nodes} × {topics}, {popularity}", f"{once:,}", *more_links]


def churn() -> Iterator[list[str]]:
    """1000 rounds of made-up churn: links of a repair, and degrees beside those of a rebuild."""
    for popularity, make in MADE.items():
        for backups in ("primal-dual", "greedy"):
            found: list[dict[str, float]] = []
            for seed in SEEDS:
                interest = make(2000, 200, seed=seed, **MIXED)
                live = LiveOverlay(grow(interest, rules.low(3)), Policy(backups=backups), seed=seed)
                figures: dict[str, Any] = replay(live, random_churn(interest, 1000, seed=seed)).figures
                names = live.interest().node_names.to_pylist()
                share = np.mean([len(live.backups(name)) for name in names]) / len(names)
                found.append({**figures, "share": 100 * float(share)})
            yield [
                *(popularity, backups),
                *(_range(found, name) for name in ("mean_join_edges", "mean_leave_edges")),
                *(
                    f"{_range(found, name)} ({_range(found, f'rebuild_{name}')})"
                    for name in ("max_degree", "average_degree")
                ),
                _range(found, "share"),
            ]


def _range(found: Sequence[dict[str, float]], name: str) -> str:
    """Return the smallest and the largest value of a figure, or the one that all have."""
    low, high = (f"{choose(each[name] for each in found):.3g}" for choose in (min, max))
    return low if low == high else f"{low}–{high}"


TABLES: dict[str, tuple[Callable[[], Iterator[list[str]]], list[str]]] = {
    "costs": (link_costs, ["", "links", "highest degree", "total cost"]),
    "resilience": (resilience, ["", "links of GM", "more for resilient", "more for GM in two rounds"]),
    "churn": (
        churn,
        [
            *("popularity", "backups", "links per join", "links per leave", "maximum degree"),
            *("average degree", "backups, % of brokers"),
        ],
    ),
}

if __name__ == "__main__":
    if sys.argv[1:2] not in [[name] for name in TABLES]:
        sys.exit(f"usage: python docs/figures.py {'|'.join(TABLES)}")
    _made, _heading = TABLES[sys.argv[1]]
    for _row in (_heading, ["---"] * len(_heading), *_made()):
        print("|", " | ".join(_row), "|", flush=True)
