"""podc07, Lemmas 5.1, 5.2 and 7.1: set cover as an overlay problem, checked on small instances."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

import meshwright as mw
from meshwright.experiments.checks import Claims
from meshwright.experiments.paper import BEST_STEPS, Case, Figure, grid
from meshwright.experiments.plots import curve, finish
from meshwright.experiments.results import Results, Row, Spread
from meshwright.overlay import unchecked_overlay


def cover_cell(case: Case) -> list[Row]:
    """Check the set-cover reductions on one random instance: Lemmas 5.1, 5.2 and 7.1."""
    draw = random.Random(case.seed)
    elements = range(case["elements"])
    sets = [set(draw.sample(elements, case["largest"])) for _ in range(case["sets"])]
    sets[0] |= set(elements) - set().union(*sets)
    cover = _smallest_cover(sets)
    hub = mw.workloads.single_node_cover(sets)
    copies = len(sets) ** 2
    many = mw.workloads.cover_copies(sets, copies)
    gm = mw.design(many, "gm").overlay
    covers = _covers_of_copies(gm, sets)
    best = mw.design(many, "best", steps=BEST_STEPS, seed=case.seed).overlay
    return [
        {
            "cover": len(cover),
            "hub_degree": _lowest_hub_degree(hub, len(sets)),
            "copies": copies,
            "gm_links": len(gm),
            "enough_links": len(cover) * copies + len(sets) ** 2,
            "enough_connect": connects_every_topic(many, _copies_to_cover(many, cover)),
            "all_cover": all(set().union(*(sets[i] for i in own)) == set(elements) for own in covers),
            "covers": len(covers),
            "sum_of_covers": sum(len(own) for own in covers),
            "gm_cover": min(len(own) for own in covers),
            "best_cover": min(len(own) for own in _covers_of_copies(best, sets)),
            "best_links": len(best),
            "bound": mw.bounds.prices(many).bound,
            **_duplicated(hub, cover),
        }
    ]


def _smallest_cover(sets: Sequence[set[int]]) -> tuple[int, ...]:
    """Return a smallest cover by trying all."""
    universe = set().union(*sets)
    return next(
        chosen
        for size in range(1, len(sets) + 1)
        for chosen in combinations(range(len(sets)), size)
        if set().union(*(sets[i] for i in chosen)) == universe
    )


def connects_every_topic(interest: mw.Interest, edges: Sequence[tuple[int, int]]) -> bool:
    """Return whether edges between dense ids connect every topic."""
    u, v = (np.array(ends, dtype=np.int32) for ends in zip(*edges, strict=True))
    nothing = np.zeros(len(u), dtype=np.int32)
    overlay = unchecked_overlay(interest, np.minimum(u, v), np.maximum(u, v), nothing)
    return bool(mw.measure.components(overlay).of_topic.max() == 1)


def _lowest_hub_degree(interest: mw.Interest, sets: int) -> int:
    """Answer SN-TCO: the lowest degree of the hub, with all other nodes linked to each other (Lemma 5.2)."""
    hub = interest.node_id("hub")
    others = [node for node in range(interest.num_nodes) if node != hub]
    clique = list(combinations(others, 2))
    return next(
        size
        for size in range(1, sets + 1)
        for chosen in combinations(others, size)
        if connects_every_topic(interest, [*clique, *((hub, node) for node in chosen)])
    )


def _covers_of_copies(overlay: mw.Overlay, sets: Sequence[set[int]]) -> list[set[int]]:
    """Return for each copy the sets whose nodes it is linked to (Lemma 7.1)."""
    covers: dict[str, set[int]] = {}
    for pair in overlay.edges:
        copy, other = sorted(map(str, pair))
        if copy.startswith("copy") and other.startswith("set"):
            covers.setdefault(copy, set()).add(int(other.removeprefix("set")) - 1)
    return list(covers.values())


def _copies_to_cover(interest: mw.Interest, cover: Sequence[int]) -> list[tuple[int, int]]:
    """Return the links of Lemma 7.1: every copy to the sets of a cover, and the sets to each other."""
    names = interest.node_names.to_pylist()
    copies = [node for node, name in enumerate(names) if name.startswith("copy")]
    sets = [node for node, name in enumerate(names) if name.startswith("set")]
    return [*((copy, sets[i]) for copy in copies for i in cover), *combinations(sets, 2)]


def _duplicated(hub_interest: mw.Interest, cover: Sequence[int]) -> Row:
    """Build the TCO instance of Lemma 5.1 and its overlay from the proof, and measure both.

    Every set node becomes a cycle of |V| − 1 copies; copy j of set i is linked to copy i of set j, and copy i
    of set i to the hub if the set is in the cover.
    """
    interest = mw.workloads.single_node_copies(hub_interest, "hub")
    count = hub_interest.num_nodes - 1
    center = interest.node_id("hub")
    # Names sort by set, then by copy.
    copies = [node for node in range(interest.num_nodes) if node != center]

    def node(i: int, j: int) -> int:
        return copies[i * count + j]

    edges = {
        tuple(sorted((node(i, j), node(i, (j + 1) % count)))) for i in range(count) for j in range(count)
    }
    edges |= {tuple(sorted((node(i, j), node(j, i)))) for i, j in combinations(range(count), 2)}
    edges |= {tuple(sorted((center, node(i, i)))) for i in cover}
    degree = [0] * interest.num_nodes
    for u, v in edges:
        degree[u] += 1
        degree[v] += 1
    hub = degree.pop(center)
    return {
        "duplicated_nodes": interest.num_nodes,
        "duplicated_hub": hub,
        "duplicated_others": max(degree),
        "duplicated_connected": connects_every_topic(interest, [(u, v) for u, v in sorted(edges)]),
    }


def draw_covers(results: Results, axes: list[Any]) -> None:
    """Draw the covers by the number of sets."""
    for column, label in (
        ("cover", "smallest cover"),
        ("hub_degree", "lowest degree of the hub"),
        ("gm_cover", "smallest cover in GM's overlay"),
    ):
        curve(axes[0], results, "sets", column, label=label)
    curve(axes[0], results, "sets", "best_cover", label="ours: smallest cover in best's overlay", ours=True)
    finish(axes[0], "Set covers from overlays", "sets", "sets in the cover", ylim=(0, None))
    for column, label in (("enough_links", "enough: |S_opt|·m + |S|²"), ("gm_links", "GM")):
        curve(axes[1], results, "sets", column, label=label)
    for column, label in (("best_links", "ours: best"), ("bound", "ours: certified bound")):
        curve(axes[1], results, "sets", column, label=label, ours=True)
    finish(axes[1], "Links of the overlay", "sets", "links", ylim=(0, None))


def cover_claims(results: Results, claims: Claims) -> None:
    """Compare with Lemmas 5.1, 5.2 and 7.1."""

    def check(name: str, claim: str, paper: str, ours: str, test: Any) -> None:
        held = {f"{row['sets']} sets, seed {row['seed']}": bool(test(row)) for row in results.rows}
        cases = f"in {sum(held.values())} of {len(held)} cases"
        claims.check(name, claim, paper=paper, ours=f"{ours} {cases}", held=held)

    check(
        "single-node", "The hub's lowest degree is the size of the smallest set cover (Lemma 5.2)",
        "equal", "equal", lambda row: row["hub_degree"] == row["cover"],
    )  # fmt: skip
    check(
        "duplicated", "Each node in |V| − 1 copies gives 1 + (|V| − 1)² nodes, and a topic-connected overlay "
        "in which the hub keeps its degree and others have at most 3 (Lemma 5.1)",
        "hub d, others ≤ 3", "so", lambda row: row["duplicated_connected"] and row["duplicated_others"] <= 3
        and row["duplicated_hub"] == row["cover"] and row["duplicated_nodes"] == 1 + row["sets"] ** 2,
    )  # fmt: skip
    check(
        "copies-cover", "Each copy's neighbours are a set cover, and there are m covers (Lemma 7.1)",
        "every overlay", "so for GM's overlay",
        lambda row: row["all_cover"] and row["covers"] == row["copies"],
    )  # fmt: skip
    check(
        "covers-fit", "The covers have at most |E| sets together, so one has at most |E| / m (Lemma 7.1)",
        "Σ|C_i| ≤ |E|", "so",
        lambda row: row["sum_of_covers"] <= row["gm_links"]
        and row["gm_cover"] * row["copies"] <= row["gm_links"],
    )  # fmt: skip
    ratio = Spread.of([row["gm_links"] / row["enough_links"] for row in results.rows])
    check(
        "links-enough", "|S_opt|·m + |S|² links connect every topic (Lemma 7.1)", "enough",
        f"GM needs {ratio} × as many; these are enough", lambda row: row["enough_connect"],
    )  # fmt: skip


SET_COVER = Figure(
    "set-cover",
    "Set cover as an overlay problem (Lemmas 5.1, 5.2, 7.1)",
    "A set cover is the neighbourhood of one node: finding few links is as hard as finding small covers.",
    draw_covers,
    cover_claims,
    cover_cell,
    quick=grid(seeds=3, sets=(4, 5, 6), elements=12, largest=5),
    full=grid(seeds=10, sets=(4, 5, 6, 7, 8), elements=16, largest=6),
    panels=2,
    version=2,
    weight=lambda case: 0.001 * 2.0 ** case["sets"],
    note="Random set systems; smallest covers and degrees are found by trying all.",
)
