"""cbps, section III-A: whether a broker without subscribers can shorten a multicast tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import meshwright as mw
from meshwright.arrays import Floats
from meshwright.experiments.checks import Claims
from meshwright.experiments.paper import Case, Figure, grid
from meshwright.experiments.plots import bars
from meshwright.experiments.results import Results, Row

TRIPLES = 1000
"""How many sets of three brokers are drawn on each network."""


def tree_cell(case: Case) -> list[Row]:
    """Compare, for sets of three brokers, their spanning tree with the best tree over one broker more."""
    if case["network"] == "hub":
        core = hub_distances()
        sets = [(0, 1, 2)]
    else:
        core = mw.content.synthetic(200, case["brokers"], 5, model=case["network"], seed=case.seed).core
        draw = np.random.default_rng(case.seed)
        sets = [tuple(draw.choice(len(core), 3, replace=False).tolist()) for _ in range(TRIPLES)]
    excess = np.array([spanning_tree(core, one) / steiner_tree(core, one) - 1 for one in sets])
    return [{"shorter": float((excess > 1e-9).mean()), "excess": float(excess.max())}]


def hub_distances() -> Floats:
    """Return the distances of three brokers, 2 from each other, around a hub that is 1 from each."""
    core = np.full((4, 4), 2.0)
    core[3], core[:, 3] = 1.0, 1.0
    np.fill_diagonal(core, 0.0)
    return core


def spanning_tree(core: Floats, brokers: tuple[int, ...]) -> float:
    """Return the weight of the minimum spanning tree of three brokers: all links but the longest."""
    one, two, three = brokers
    links = (core[one, two], core[one, three], core[two, three])
    return float(sum(links) - max(links))


def steiner_tree(core: Floats, brokers: tuple[int, ...]) -> float:
    """Return the weight of the shortest tree over three brokers and at most one other."""
    star = float(core[:, list(brokers)].sum(axis=1).min())
    return min(spanning_tree(core, brokers), star)


def draw_trees(results: Results, axes: list[Any]) -> None:
    """Draw how often a broker in between shortens the tree."""
    heights: dict[str, Sequence[float]] = {
        _named(network): [100 * share for share in results.where(network=network).column("shorter")]
        for network in results.values("network")
    }
    bars(axes[0], heights)
    axes[0].set(title="Trees that a broker in between shortens", ylabel="% of sets of three brokers")


def tree_claims(results: Results, claims: Claims) -> None:
    """Compare with the proof in section III-A."""
    excess = {name: results.where(network=name).spread("excess").high for name in results.values("network")}
    shorter = {name: results.where(network=name).spread("shorter") for name in excess}
    claims.check(
        "no-broker-between", "Under the triangle inequality, the minimum multicast tree is the spanning tree "
        "of the source and the subscribers' brokers: no other broker shortens it",
        paper="never",
        ours="; ".join(
            f"{_named(name)}: {100 * share.mean:.3g} % of the trees, by up to {excess[name]:.0%}"
            for name, share in shorter.items()
        ).replace("\n", " "),
        held={_named(name).replace("\n", " "): share.high == 0 for name, share in shorter.items()},
        reason="Three brokers at mutual distance 2 around a hub at distance 1: their spanning tree costs 4, "
        "the tree over the hub 3. The proof replaces links over the hub one by one; the tree shares them.",
    )  # fmt: skip


def _named(network: str) -> str:
    return {"hub": "three brokers\nand a hub", "plane": "points in\nthe plane"}.get(
        network, "costs uniform\non [1, 2]"
    )


def _cases(seeds: int) -> tuple[Case, ...]:
    return grid(seeds=1, network="hub", brokers=4) + grid(
        seeds=seeds, network=("plane", "uniform"), brokers=20
    )


TREES = Figure(
    "sec3",
    "Multicast trees over brokers",
    "The link costs satisfy the triangle inequality. So the minimum multicast tree of a source and its "
    "subscribers' brokers is their spanning tree, which involves no other broker.",
    draw_trees,
    tree_claims,
    tree_cell,
    quick=_cases(5),
    full=_cases(20),
    weight=lambda _: 0.1,
    note="Sets of three of 20 brokers, and the best of the others in between. We define the cost of core "
    "links by spanning trees, as the paper computes it. The trees over a broker in "
    "between are ours; no users are assigned here, so there is no curve of `descent`.",
)
