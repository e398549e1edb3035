"""What must hold of interests, however they are made."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from copy import deepcopy

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_matrix

from meshwright import Interest, Overlay
from meshwright.arrays import frozen, settled
from meshwright.errors import InputError
from meshwright.workloads import social, unif
from strategies import interests, wild_interests, wild_names

pairs_of_names = st.lists(st.tuples(wild_names, wild_names), max_size=12)


def from_list(pairs: list[tuple[str, str]]) -> Interest:
    return Interest.from_pairs([node for node, _ in pairs], [topic for _, topic in pairs])


def same(a: Interest, b: Interest) -> bool:
    """Return whether two interests are equal in every array."""
    return spelled_out(a) == spelled_out(b)


def spelled_out(interest: Interest) -> list[list[object]]:
    """Return the arrays of an interest as lists."""
    names = [interest.node_names.to_pylist(), interest.topic_names.to_pylist()]
    return [*names, interest.node_ptr.tolist(), interest.node_topics.tolist()]


@settings(max_examples=30)
@given(pairs_of_names, st.randoms(use_true_random=False))
def test_order_does_not_matter(pairs: list[tuple[str, str]], shuffler: random.Random) -> None:
    """Pairs in another order, or given twice, make the same interest."""
    shuffled = [*pairs, *pairs[:3]]
    shuffler.shuffle(shuffled)
    one, two = from_list(pairs), from_list(shuffled)
    assert same(one, two)
    assert one.fingerprint == two.fingerprint
    assert two.duplicates == len(shuffled) - two.num_subscriptions


@settings(max_examples=30)
@given(pairs_of_names)
def test_holds_exactly_its_pairs(pairs: list[tuple[str, str]]) -> None:
    """The interest holds the pairs it was made from, names sorted by their UTF-8 bytes."""
    interest = from_list(pairs)
    rows = interest.to_arrow().to_pylist()
    assert [(row["node"], row["topic"]) for row in rows] == sorted(
        set(pairs), key=lambda p: [s.encode() for s in p]
    )
    assert interest.node_names.to_pylist() == sorted({node for node, _ in pairs}, key=str.encode)
    for node in {node for node, _ in pairs}:
        assert set(interest.topics_of(node)) == {topic for other, topic in pairs if other == node}


@settings(max_examples=30)
@given(wild_interests)
def test_every_way_of_building_agrees(interest: Interest) -> None:
    """Pairs, dicts, Arrow tables and sparse matrices make the same interest of the same relation."""
    names = interest.node_names.to_pylist()
    topics = interest.topic_names.to_pylist()
    table = interest.to_arrow()
    with_all = {"all_nodes": names, "all_topics": topics}
    assert same(Interest.from_pairs(table["node"], table["topic"], **with_all), interest)
    assert same(Interest.from_dict({name: interest.topics_of(name) for name in reversed(names)}), interest)
    assert same(Interest.from_scipy(interest.to_scipy(), nodes=names, topics=topics), interest)
    only_subscribers = from_list([(row["node"], row["topic"]) for row in table.to_pylist()])
    assert same(Interest.from_arrow(table), only_subscribers)


@settings(max_examples=12)
@given(pairs_of_names)
def test_tables_of_every_library(pairs: list[tuple[str, str]]) -> None:
    """pandas, polars, DuckDB and Arrow tables make the same interest, with columns in any place."""
    expected = from_list(pairs)
    columns = {"topic": [topic for _, topic in pairs], "node": [node for node, _ in pairs]}
    arrow = pa.table(columns, schema=pa.schema({"topic": pa.string(), "node": pa.string()}))
    assert same(Interest.from_arrow(arrow), expected)
    assert same(Interest.from_arrow(pl.from_arrow(arrow)), expected)
    assert same(Interest.from_arrow(pd.DataFrame(columns, dtype=object)), expected)
    with duckdb.connect() as connection:
        connection.register("given", arrow)
        assert same(Interest.from_arrow(connection.sql("select node, topic from given")), expected)


def test_categories_and_integers_in_tables() -> None:
    """Categorical and integer columns of pandas and polars are names like others."""
    expected = Interest.from_pairs(["b", "a", "b"], [10, 9, 9])
    columns = {"node": ["b", "a", "b"], "topic": [10, 9, 9]}
    in_pandas = pd.DataFrame(columns).astype({"node": "category", "topic": "int32"})
    in_polars = pl.DataFrame(columns, schema={"node": pl.Categorical, "topic": pl.UInt16})
    assert same(Interest.from_arrow(in_pandas), expected)
    assert same(Interest.from_arrow(in_polars), expected)
    assert expected.topic_names.to_pylist() == [9, 10], "integers keep their numeric order"


@given(interests())
def test_both_directions_hold_the_same(interest: Interest) -> None:
    """Subscribers by topic and topics by node are one relation."""
    by_node = set(zip(interest.node_of_slot.tolist(), interest.node_topics.tolist(), strict=True))
    by_topic = {
        (node, topic)
        for topic in range(interest.num_topics)
        for node in interest.topic_nodes[interest.topic_ptr[topic] : interest.topic_ptr[topic + 1]].tolist()
    }
    assert by_node == by_topic
    assert len(by_node) == interest.num_subscriptions
    assert interest.to_scipy().toarray().tolist() == [
        [int((node, topic) in by_node) for topic in range(interest.num_topics)]
        for node in range(interest.num_nodes)
    ]


@given(interests(most_nodes=12))
def test_canonical_is_strings_in_byte_order(interest: Interest) -> None:
    """The canonical form has string names, sorted; making it again, and its fingerprint, change nothing."""
    canonical = interest.canonical()
    assert canonical.node_names.to_pylist() == sorted(map(str, interest.node_names.to_pylist()))
    assert same(canonical.canonical(), canonical)
    assert canonical.fingerprint == interest.fingerprint
    as_text = [[str(name) for name in column.to_pylist()] for column in interest.to_arrow().columns]
    names = {"all_nodes": canonical.node_names, "all_topics": canonical.topic_names}
    assert same(Interest.from_pairs(*as_text, **names), canonical)


@given(interests(), interests())
def test_fingerprints_differ_with_the_relation(one: Interest, two: Interest) -> None:
    """Two interests have the same fingerprint exactly when they are the same relation."""
    assert (one.fingerprint == two.fingerprint) == same(one, two)


def test_fingerprint_sees_where_names_end() -> None:
    """Moving a letter from one name to the next is another relation."""
    one = Interest.from_dict({"ab": {"t"}, "c": {"t"}})
    two = Interest.from_dict({"a": {"t"}, "bc": {"t"}})
    assert one.fingerprint != two.fingerprint


@given(interests(), st.data())
def test_restrict_keeps_only_those_topics(interest: Interest, data: st.DataObject) -> None:
    """A restricted interest keeps ids, and exactly the subscriptions of the wanted topics."""
    wanted = data.draw(
        st.sets(st.integers(0, interest.num_topics - 1)) if interest.num_topics else st.just(set())
    )
    part = interest.restrict(np.array(sorted(wanted), dtype=np.int64))
    pairs = zip(interest.node_of_slot.tolist(), interest.node_topics.tolist(), strict=True)
    expected = [pair for pair in pairs if pair[1] in wanted]
    assert list(zip(part.node_of_slot.tolist(), part.node_topics.tolist(), strict=True)) == expected
    assert (part.num_nodes, part.num_topics) == (interest.num_nodes, interest.num_topics)


def test_matrices_of_every_kind() -> None:
    """Repeated and zero entries of a matrix count once and not at all; rows and columns keep their place."""
    twice = coo_array(([1, 1, 0], ([0, 0, 1], [1, 1, 0])), shape=(3, 2))
    for matrix in (twice, csr_matrix(([2.5], ([0], [1])), shape=(3, 2))):
        interest = Interest.from_scipy(matrix)
        assert interest.to_arrow().to_pylist() == [{"node": 0, "topic": 1}]
        assert (interest.num_nodes, interest.num_topics) == (3, 2)
    with pytest.raises(InputError, match="2 node names for 3 rows"):
        Interest.from_scipy(twice, nodes=["a", "b"])
    with pytest.raises(InputError, match="topic names are not distinct"):
        Interest.from_scipy(twice, topics=["a", "a"])


def test_interests_do_not_change() -> None:
    """The arrays of an interest cannot be written."""
    interest = Interest.from_dict({"a": {"x"}})
    for array in (interest.node_ptr, interest.node_topics, interest.topic_ptr, interest.topic_nodes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_an_interest_keeps_its_own_subscriptions() -> None:
    """What the caller does with the arrays afterwards does not show, and they stay the caller's to change."""
    names, topics = pa.array(["a", "b"]), np.array([0, 1, 1], dtype=np.int32)
    ptr = np.array([0, 2, 3])
    for handed in (topics, topics[:], frozen(topics, np.int32)):
        interest = Interest(names, names, ptr, handed)
        topics[0], ptr[1] = 1, 1
        assert interest.topics_of("a") == ["a", "b"]
        topics[0], ptr[1] = 0, 2


def test_what_nobody_can_write_is_not_copied() -> None:
    """Arrays of another interest, of Arrow, and arrays made for this interest are not copied."""
    first = Interest.from_dict({"a": {"x", "y"}, "b": {"y"}})
    arrow = pa.array(first.node_topics).to_numpy()
    for topics in (first.node_topics, arrow, settled(first.node_topics.copy())):
        again = Interest(first.node_names, first.topic_names, first.node_ptr, topics)
        assert np.shares_memory(again.node_topics, topics)
        assert np.shares_memory(again.node_ptr, first.node_ptr)


@pytest.mark.parametrize("copied", [deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_copies_do_not_change(copied: Callable[[Overlay], Overlay]) -> None:
    """The arrays of a copy, and those of its interest, cannot be written."""
    interest = Interest.from_dict({"a": {"x"}, "b": {"x"}})
    assert interest.topic_nodes.tolist() == [0, 1]  # so that it is copied, too
    overlay = copied(Overlay(interest, *(np.array([number]) for number in (0, 1, 1))))
    held = overlay.interest
    assert (overlay.edges, held.fingerprint) == ([("a", "b")], interest.fingerprint)
    for array in (
        overlay.u,
        overlay.v,
        overlay.contribution,
        held.node_ptr,
        held.node_topics,
        held.topic_nodes,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@settings(max_examples=30)
@given(pairs_of_names, st.integers(1, 4))
def test_chunks_do_not_matter(pairs: list[tuple[str, str]], size: int) -> None:
    """Columns that come in chunks, each with names of its own, make the same interest."""
    cuts = range(0, len(pairs), size)
    nodes = pa.chunked_array([[node for node, _ in pairs[i : i + size]] for i in cuts], pa.string())
    topics = pa.chunked_array([[topic for _, topic in pairs[i : i + size]] for i in cuts], pa.string())
    assert same(Interest.from_pairs(nodes, topics), from_list(pairs))


def test_more_text_than_one_array_holds() -> None:
    """Columns whose names take more than 2 GiB together are read, chunk by chunk."""
    long_name = pa.array(["n" * 2**20])
    nodes = pa.chunked_array([long_name] * 2**11 + [pa.array(["a"])])
    interest = Interest.from_pairs(nodes, pa.chunked_array([np.zeros(len(nodes), dtype=np.int64)]))
    assert (interest.num_nodes, interest.num_subscriptions) == (2, 2)
    assert interest.duplicates == len(nodes) - 2


def test_edges_of_the_possible() -> None:
    """No nodes, a node without topics and a topic without subscribers are interests."""
    nobody = Interest.from_dict({})
    assert (nobody.num_nodes, nobody.num_topics, nobody.num_subscriptions) == (0, 0, 0)
    assert nobody.to_arrow().num_rows == 0
    lonely = Interest.from_dict({"a": set()})
    assert (lonely.num_nodes, lonely.topics_of("a")) == (1, [])
    idle = Interest.from_pairs([], [], all_topics=["x"])
    assert (idle.num_nodes, idle.num_topics) == (0, 1)
    assert len({nobody.fingerprint, lonely.fingerprint, idle.fingerprint}) == 3


def test_names_find_their_ids() -> None:
    """Ids are positions in the sorted names; an unknown name, or one of the wrong kind, is named."""
    interest = Interest.from_dict({"b": {7, 10}, "a": {7}})
    assert (interest.node_id("a"), interest.topic_id(10)) == (0, 1)
    with pytest.raises(InputError, match="no node 'c' among the 2 nodes"):
        interest.node_id("c")
    with pytest.raises(InputError, match="no topic '7' among the 2 topics"):
        interest.topic_id("7")


@pytest.mark.parametrize(
    ("nodes", "topics", "said"),
    [
        (["a"], ["x", "y"], "1 nodes but 2 topics"),
        (["a", None, None], ["x", "x", "x"], "no node name in rows 2, 3 "),
        (["a"], [None], "no topic name in row 1 "),
        (["a", 1], ["x", "y"], "node names must be all strings or all integers"),
        (["a"], [1.5], "topic names are of type double"),
        ("abc", ["x"], "nodes are one string"),
        (["\ud800"], ["x"], "node names must be"),
        ([2**70], ["x"], "node names must be .* 64 bits"),
        (np.array([2**64 - 1], dtype=np.uint64), ["x"], "node names must be .* 64 bits"),
    ],
)
def test_bad_pairs(nodes: list[str], topics: list[str], said: str) -> None:
    """Columns that cannot be an interest are rejected in one line that says why."""
    with pytest.raises(InputError, match=said) as caught:
        Interest.from_pairs(nodes, topics)
    assert "\n" not in str(caught.value)


def test_other_bad_input() -> None:
    """A string for a set, names of two kinds, a missing column and a foreign object are rejected."""
    with pytest.raises(InputError, match="topics of node 'a' are one string"):
        Interest.from_dict({"a": "xyz"})
    with pytest.raises(InputError, match="not both"):
        Interest.from_pairs(["a"], ["x"], all_nodes=[1])
    with pytest.raises(InputError, match=r"no column 'topic'; the columns are 'node', 'subject'"):
        Interest.from_arrow(pa.table({"node": ["a"], "subject": ["x"]}))
    with pytest.raises(InputError, match="list does not offer __arrow_c_stream__"):
        Interest.from_arrow([("a", "x")])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["a", 1, "b"], "row 2 is 1, unlike 'a' in row 1"),
        ([None, "a", 2.5], r"row 3 is 2\.5"),
        ([7, "a", None], "row 2 is 'a', unlike 7 in row 1"),
    ],
)
def test_mixed_types_are_named(wrong: list[str | int], said: str) -> None:
    """Names of several types are refused in one line: the column, the first row that differs, its value."""
    frame = pd.DataFrame({"node": ["a", "b", "c"], "topic": pd.Series(wrong, dtype=object)})
    with pytest.raises(InputError, match=f"column 'topic' has mixed or unusable types: {said}; give all"):
        Interest.from_arrow(frame)
    with pytest.raises(InputError, match=f"topic names must be all strings .*: {said}$"):
        Interest.from_pairs(["a", "b", "c"], wrong)


AB, XY = pa.array(["a", "b"]), pa.array(["x", "y"])


@pytest.mark.parametrize(
    ("node_names", "topic_names", "node_ids", "topic_ids", "said"),
    [
        (AB, XY, [0, 0, 1], [0, 2, 1], "no topics 2: give ids from 0 to 1"),
        (AB, XY, [0, 1], [0, -1], "no topics -1: give ids from 0 to 1"),
        (AB, XY, [0, 2], [0, 1], "no nodes 2: give ids from 0 to 1"),
        (AB, pa.array([], pa.string()), [0], [0], "no topics 0: there are no topics"),
        (AB, XY, [0.0, 1.0], [0, 1], "node ids 0.0, 1.0 are not integers"),
        (AB, XY, [0, 1], [0, 1.5], "topic ids 0.0, 1.5 are not integers"),
        (AB, XY, [False, True], [0, 1], "node ids False, True are not integers"),
        (AB, XY, [0, 2**40], [0, 1], "beyond"),
        (AB, XY, [0, 1], [0], "2 node ids but 1 topic ids"),
        (AB.take([1, 0]), XY, [0], [0], "node names 'a' are not above the name before them"),
        (AB, pa.array(["x", "x"]), [0], [0], "topic names 'x' are not above the name before them"),
        (pa.array([1, 1]), XY, [0], [0], "node names 1 are not above the name before them"),
        (AB, pa.array(["x", None]), [0], [0], "no topic name in row 2 "),
        (AB, pa.array([1.5]), [0], [0], "topic names are of type double"),
        (["a", "b"], XY, [0], [0], "node names are of type list"),
    ],
)
def test_bad_ids(
    node_names: pa.Array, topic_names: pa.Array, node_ids: list[int], topic_ids: list[int], said: str
) -> None:
    """Ids that name nothing, and names out of order, are rejected in one line; none wraps around."""
    with pytest.raises(InputError, match=said) as caught:
        Interest.from_ids(node_names, topic_names, np.array(node_ids), np.array(topic_ids))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("node_names", "topic_names", "node_ptr", "node_topics", "said"),
    [
        (AB, XY, [0, 1, 9], [0, 0], "node_ptr goes from 0 to 9"),
        (AB, XY, [1, 1, 2], [0, 0], "node_ptr goes from 1 to 2"),
        (AB, XY, [0, 2], [0, 1], "node_ptr has 2 entries for 2 nodes: give 3"),
        (AB, XY, [], [], "node_ptr has 0 entries for 2 nodes: give 3"),
        (AB, XY, [0, 3, 2], [0, 1], "node_ptr falls at the nodes 'b'"),
        (AB, XY, [0, -1, 2], [0, 1], "node_ptr falls at the nodes 'a'"),
        (AB, XY, [0.0, 1.0, 2.0], [0, 1], "node_ptr 0.0, 1.0, 2.0 are not integers"),
        (AB, XY, [[0, 1, 2]], [0, 1], "node_ptr have the shape"),
        (AB, XY, [0, 1, 2], [0, 2], "no topics 2: give ids from 0 to 1"),
        (AB, XY, [0, 1, 2], [-1, 0], "no topics -1: give ids from 0 to 1"),
        (AB, XY, [0, 1, 2], [0.0, 1.0], "node_topics 0.0, 1.0 are not integers"),
        (AB, XY, [0, 1, 3], [1, 1, 0], "the topics of the nodes 'b' are not in ascending order"),
        (AB, XY, [0, 2, 2], [1, 1], "the topics of the nodes 'a' are not in ascending order"),
        (AB.take([1, 0]), XY, [0, 1, 2], [0, 1], "node names 'a' are not above"),
        (AB, XY.take([1, 0]), [0, 1, 2], [0, 1], "topic names 'x' are not above"),
    ],
)
def test_bad_rows(
    node_names: pa.Array, topic_names: pa.Array, node_ptr: list[int], node_topics: list[int], said: str
) -> None:
    """Arrays that are not a row of ascending topics for each node are rejected in one line."""
    with pytest.raises(InputError, match=said) as caught:
        Interest(node_names, topic_names, np.array(node_ptr), np.array(node_topics))
    assert "\n" not in str(caught.value)


@given(interests(), st.sets(st.integers(0, 3)))
def test_interests_pass_their_own_checks(interest: Interest, topics: set[int]) -> None:
    """What an interest is made of makes it again, however it was built; so do its pairs in any order."""
    kept = np.array([topic for topic in topics if topic < interest.num_topics], dtype=np.int64)
    for own in (interest, interest.restrict(kept), interest.canonical()):
        assert same(Interest(own.node_names, own.topic_names, own.node_ptr, own.node_topics), own)
        pairs = own.node_of_slot[::-1], own.node_topics[::-1]
        assert same(Interest.from_ids(own.node_names, own.topic_names, *pairs), own)


def test_drawn_workloads_pass_the_checks() -> None:
    """Workloads are built without the checks, and would pass them."""
    for own in (unif(120, 30, size=4, seed=2), social(60, seed=2)):
        assert same(Interest(own.node_names, own.topic_names, own.node_ptr, own.node_topics), own)


def test_a_column_that_is_there_twice_is_rejected() -> None:
    """Two columns with the same name are ambiguous."""
    table = pa.table([["a"], ["x"], ["b"]], names=["node", "topic", "node"])
    frame = pd.DataFrame([["a", "x", "b"]], columns=["node", "topic", "node"])
    for build, given_twice in ((Interest.from_arrow, table), (Interest.from_pandas, frame)):
        with pytest.raises(InputError, match=r"^more than one column 'node': keep one of them$"):
            build(given_twice)


def test_names_that_no_column_of_pandas_can_become() -> None:
    """An integer beyond 64 bits, and half of a surrogate pair, are named with their column and row."""
    for wrong, said in ((2**70, "outside of the range of int64"), ("\ud800", "half of a surrogate pair")):
        frame = pd.DataFrame({"node": ["a", "b"], "topic": [wrong, wrong]}, dtype=object)
        with pytest.raises(InputError, match=f"^column 'topic' has .*: row 1 is .*{said}; give all"):
            Interest.from_pandas(frame)


def test_every_kind_of_arrow_names_makes_an_interest() -> None:
    """String views, and the null column of an interest without nodes, are sorted names like any others."""
    nobody, ids = np.zeros(0, dtype=np.int32), np.array([0, 1], dtype=np.int32)
    views = pa.array(["a", "b"], pa.string_view())
    for interest in (
        Interest(views, views, np.array([0, 1, 2]), ids),
        Interest.from_ids(views, views, ids, ids),
    ):
        assert same(interest, Interest.from_dict({"a": {"a"}, "b": {"b"}}))
        assert interest.topics_of("b") == ["b"]
    for empty in (
        Interest(pa.array([]), pa.array([]), np.array([0]), nobody),
        Interest.from_ids(pa.array([]), pa.array([]), nobody, nobody),
    ):
        assert empty.fingerprint == Interest.from_dict({}).fingerprint
