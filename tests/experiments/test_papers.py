"""The papers: their figures are well-formed, their cells count right, and most of their claims hold."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import meshwright as mw
from meshwright.experiments import reproduce
from meshwright.experiments.paper import Case, Figure, Paper, papers
from meshwright.experiments.papers import podc07, podc07_set_cover
from meshwright.experiments.papers.podc07_steps import count_steps

FIGURES = [(paper, figure) for paper in papers().values() for figure in paper.figures]


@pytest.mark.parametrize(("paper", "figure"), FIGURES, ids=[f"{p.key}/{f.key}" for p, f in FIGURES])
def test_figures_are_well_formed(paper: Paper, figure: Figure) -> None:
    """A figure has cells of its own or draws those of another; no cell occurs twice, and all can be named."""
    source = paper.source(figure)
    assert source.cell is not None
    assert not (figure.table and (figure.cell or figure.quick or figure.full))
    assert all((figure.title, figure.shows, paper.title, paper.authors))
    for full in (False, True):
        cases = source.cases(full=full)
        assert cases
        assert len({json.dumps([*case.parameters.items(), case.seed]) for case in cases}) == len(cases)
        assert len({tuple(case.parameters) for case in cases}) == 1
        assert all(source.weight(case) > 0 for case in cases)


def test_keys_are_unique() -> None:
    """No two figures of a paper have the same key."""
    for paper in papers().values():
        assert len({figure.key for figure in paper.figures}) == len(paper.figures)


@given(
    st.lists(st.sets(st.integers(0, 5), min_size=1), min_size=2, max_size=8),
    st.sampled_from(["gm", "low", "ring"]),
)
def test_steps_are_counted(held: list[set[int]], design: str) -> None:
    """Contributions at the start and updates until connected are both the pairs of subscribers, by topic."""
    interest = mw.Interest.from_dict({f"n{i}": {f"t{t}" for t in own} for i, own in enumerate(held)})
    overlay = mw.design(interest, design).overlay
    sizes = np.diff(interest.topic_ptr)
    pairs = int((sizes * (sizes - 1) // 2).sum())
    counted = count_steps(interest, overlay)
    assert counted["initial"] == counted["updates"] == pairs
    assert counted["mergers_needed"] == int(overlay.contribution.sum())
    induced = [
        sum(topic in interest.topics_of(u) and topic in interest.topics_of(v) for u, v in overlay.edges)
        for topic in interest.topic_names.to_pylist()
    ]
    assert counted["cyclic_topics"] == sum(
        links > size - 1 for links, size in zip(induced, sizes.tolist(), strict=True)
    )


def test_connects_every_topic_can_say_no() -> None:
    """Without a link of the cover, the reduction's overlay is not connected."""
    interest = mw.workloads.single_node_cover([{1, 2}, {3}])
    hub, one, two = (interest.node_id(name) for name in ("hub", "set1", "set2"))
    assert podc07_set_cover.connects_every_topic(interest, [(hub, one), (hub, two)])
    assert not podc07_set_cover.connects_every_topic(interest, [(hub, one), (one, two)])


def test_a_cuboid_cell() -> None:
    """The cuboid of the paper's Figure 1: 56 topics, 9 nodes, 18 links by GM, 14 are enough."""
    (row,) = podc07.cuboid_cell(Case({"k": 3, "m": 4}, 1))
    assert (row["topics"], row["nodes"], row["gm"], row["bound"]) == (56, 9, 18, 14)
    assert row["halves_connect"]


@pytest.mark.slow
def test_most_claims_hold(tmp_path: Path) -> None:
    """In a quick run of everything, at least 80% of the claims hold; each of the others has a reason."""
    made = reproduce("all", tmp_path / "out")
    assert made.counts["holds"] >= 0.8 * made.counts["claims"]
    assert all(check.reason for check in made.checks if check.verdict != "holds")
