"""What must hold of overlays and of their exports."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import meshwright as mw
from meshwright import Interest, Overlay
from meshwright.errors import InputError, OutputError
from strategies import overlays, wild_interests

INTEREST = Interest.from_dict({"a": {"x"}, "b": {"x"}, "c": {"x"}})


def make(u: list[int], v: list[int], contribution: list[int] | None = None) -> Overlay:
    columns = (u, v, [1] * len(u) if contribution is None else contribution)
    return Overlay(INTEREST, *(np.array(column, dtype=np.int32) for column in columns))


@settings(max_examples=20)
@given(wild_interests)
def test_exports_agree(interest: Interest) -> None:
    """Arrow, pandas, scipy and networkx hold the same edges, in names or ids."""
    overlay = mw.design(interest, "ring").overlay
    table = overlay.to_arrow()
    rows = table.to_pylist()
    assert [(row["u"], row["v"]) for row in rows] == overlay.edges
    assert [row["rank"] for row in rows] == list(range(len(overlay)))
    assert [row["contribution"] for row in rows] == overlay.contribution.tolist()
    assert [str(kind) for kind in table.schema.types] == ["int32", "string", "string", "int32"]
    assert overlay.to_pandas().to_dict("records") == rows
    graph = overlay.to_networkx()
    assert set(graph) == set(interest.node_names.to_pylist())
    assert {(u, v): graph.edges[u, v] for u, v in overlay.edges} == {
        (row["u"], row["v"]): {"rank": row["rank"], "contribution": row["contribution"]} for row in rows
    }
    assert graph.number_of_edges() == len(overlay)


@given(overlays())
def test_adjacency_is_symmetric(overlay: Overlay) -> None:
    """The sparse adjacency has both directions of each edge and nothing else."""
    dense = overlay.to_scipy().toarray()
    assert dense.shape == (overlay.interest.num_nodes,) * 2
    assert (dense == dense.T).all()
    assert dense.sum() == 2 * len(overlay)
    assert (dense[overlay.u, overlay.v] == 1).all()


@settings(max_examples=30)
@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"]), min_size=1, max_size=5),
        st.sets(st.sampled_from("xyz")),
        max_size=6,
    ).map(Interest.from_dict)
)
def test_graphml_round_trip(interest: Interest) -> None:
    """A GraphML file holds nodes, edges and their figures (XML has no control characters)."""
    overlay = mw.design(interest, "ring").overlay
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "overlay.graphml"
        overlay.write_graphml(file)
        found = nx.read_graphml(file)
    assert set(found) == set(overlay.to_networkx())
    assert {frozenset((u, v)): data for u, v, data in found.edges(data=True)} == {
        frozenset((u, v)): {"rank": rank, "contribution": gain}
        for rank, ((u, v), gain) in enumerate(zip(overlay.edges, overlay.contribution.tolist(), strict=True))
    }


def test_graphml_that_cannot_be_written(tmp_path: Path) -> None:
    """A name that XML cannot hold is named, and so is a place that cannot be written."""
    bell = Overlay.empty(Interest.from_dict({"a": {"x"}, "bell\a": {"x"}}))
    with pytest.raises(InputError, match=r"'bell\\x07'.*XML"):
        bell.write_graphml(tmp_path / "bell.graphml")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OutputError, match="cannot write"):
        make([0], [1]).write_graphml(tmp_path / "missing" / "a.graphml")


@given(overlays(), st.integers(0, 40))
def test_prefix_keeps_the_first_edges(overlay: Overlay, edges: int) -> None:
    """A prefix has the first edges, in order, and all of them if it is longer."""
    part = overlay.prefix(edges)
    assert part.edges == overlay.edges[:edges]
    assert part.interest is overlay.interest


def test_negative_prefix() -> None:
    """A negative prefix is rejected."""
    with pytest.raises(InputError, match="a prefix of -1 edges"):
        make([0], [1]).prefix(-1)


def test_empty() -> None:
    """The overlay without links is defined for no nodes at all, and exports."""
    for interest in (INTEREST, Interest.from_dict({})):
        overlay = Overlay.empty(interest)
        assert (len(overlay), overlay.edges, overlay.to_arrow().num_rows) == (0, [], 0)
        assert overlay.to_scipy().shape == (interest.num_nodes,) * 2
        assert len(overlay.to_networkx()) == interest.num_nodes


@pytest.mark.parametrize(
    ("u", "v", "said"),
    [
        ([1], [0], r"edges \(1, 0\) are not"),
        ([1], [1], r"edges \(1, 1\) are not"),
        ([-1], [1], r"edges \(-1, 1\) are not"),
        ([0], [3], r"edges \(0, 3\) are not 0 <= u < v < 3"),
        ([0, 1, 0], [1, 2, 1], r"edges \(0, 1\) appear more than once"),
        ([0], [], "same length"),
    ],
)
def test_bad_edges(u: list[int], v: list[int], said: str) -> None:
    """Edges out of range, reversed, repeated or of unequal columns are rejected and named."""
    with pytest.raises(InputError, match=said):
        make(u, v)


@pytest.mark.parametrize(
    ("u", "v", "contribution", "said"),
    [
        ([2**32], [2**32 + 1], [1], f"nodes {2**32} are beyond"),
        ([0.5], [1], [1], r"nodes 0\.5 are not integers"),
        ([0], [1], [2**32 + 7], f"contributions {2**32 + 7} are beyond"),
        ([0], [1], [0.7], r"contributions 0\.7 are not integers"),
        ([[0]], [[1]], [[1]], r"nodes have the shape \(1, 1\)"),
    ],
)
def test_edges_that_a_cast_would_change(
    u: list[int], v: list[int], contribution: list[int], said: str
) -> None:
    """Numbers beyond 32 bits, and values that are not numbers, are rejected and not cast."""
    with pytest.raises(InputError, match=said):
        Overlay(INTEREST, *(np.array(column) for column in (u, v, contribution)))


def test_overlays_do_not_change() -> None:
    """The arrays of an overlay cannot be written."""
    overlay = make([0], [1], [1])
    for array in (overlay.u, overlay.v, overlay.contribution):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_an_overlay_keeps_its_own_edges() -> None:
    """What the caller does with the arrays afterwards does not show, and they stay the caller's to change."""
    u, v, contribution = (np.array(column) for column in ([0, 1], [1, 2], [1, 1]))
    overlay = Overlay(INTEREST, u, v, contribution)
    u[0] = 7
    assert overlay.edges == [("a", "b"), ("b", "c")]
    with pytest.raises(ValueError, match="read-only"):
        overlay.u[0] = 1


@pytest.mark.parametrize("contribution", [[0, 0, 0], [1, 1, 1], [1, 1, -1], [2, 0, 0]])
def test_contributions_that_edges_do_not_have(contribution: list[int]) -> None:
    """Contributions of zeros, and others that are wrong, are refused, and who counts them is named."""
    wrong = [i for i, given in enumerate(contribution) if given != (1, 1, 0)[i]]
    edges = ", ".join(str(((0, 1), (0, 2), (1, 2))[i]) for i in wrong)
    said = "^.*" + re.escape(f"of the edges {edges}") + r".*Overlay\.from_edges.*\Z"
    with pytest.raises(InputError, match=said):
        make([0, 0, 1], [1, 2, 2], contribution)


@settings(max_examples=20)
@given(wild_interests)
def test_overlays_of_named_links_are_those_of_designs(interest: Interest) -> None:
    """Pairs of names in any direction, or a graph, give the links with the contributions of the design."""
    made = mw.design(interest, "gm").overlay
    again = Overlay.from_edges(interest, [pair[::-1] for pair in made.edges])
    assert again.edges == made.edges
    assert again.contribution.tolist() == made.contribution.tolist()
    graph = Overlay.from_edges(interest, made.to_networkx())
    assert sorted(graph.edges) == sorted(made.edges)
    assert graph.contribution.sum() == made.contribution.sum()


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("a", "q")], "'q', which are no nodes"),
        ([("a", "a")], "'a' to themselves"),
        ([("a", "b"), ("b", "a")], "more than once"),
        ([("a",)], "pairs of node names"),
        (7, "pairs of node names"),
    ],
)
def test_wrong_links_are_named(edges: object, message: str) -> None:
    """Unknown nodes, loops, repeated links and what are no pairs are refused in one line."""
    with pytest.raises(InputError, match=message):
        Overlay.from_edges(INTEREST, edges)
