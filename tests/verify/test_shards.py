"""However the topics are dealt out to shards, these find together what one process finds."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright import Interest, Overlay, measure
from meshwright.pipeline.dataset.subscriptions import from_interest
from meshwright.pipeline.plans import sharded_verify
from meshwright.verify import verify_overlay
from meshwright.verify.overlay_check import ShardTask, examine_shard
from strategies import overlays


def task_of(overlay: Overlay, *, weak: bool = True) -> ShardTask:
    interest = overlay.interest
    return ShardTask(overlay.u, overlay.v, interest.num_nodes, interest.num_topics, weak=weak)


@given(overlays(), st.booleans())
def test_a_shard_finds_what_the_measures_find(overlay: Overlay, backwards: bool) -> None:
    """Components, contributions and weak topics are those that other code finds, in any order of rows."""
    interest, step = overlay.interest, -1 if backwards else 1
    found = examine_shard(task_of(overlay), interest.node_of_slot[::step], interest.node_topics[::step])
    of_topic = np.zeros(interest.num_topics, dtype=np.int64)
    of_topic[found.topics] = found.components
    assert of_topic.tolist() == measure.components(overlay).of_topic.tolist()
    assert found.topics.tolist() == np.unique(interest.node_topics).tolist()
    assert found.gains.tolist() == measure.contributions(interest, overlay.u, overlay.v).tolist()
    weak = measure.weak_topics(overlay)
    assert found.weak_topics.tolist() == weak.topics.tolist()
    assert found.weak_nodes.tolist() == weak.nodes.tolist()
    assert (found.subscriptions, found.repeated, found.outside) == (interest.num_subscriptions, 0, 0)


@given(overlays(), st.integers(1, 9), st.integers(1, 4))
def test_shards_add_up(overlay: Overlay, most: int, edges: int) -> None:
    """The findings of all shards together are those of one process, however links are divided."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sharded_verify, "SHARD_SUBSCRIPTIONS", most)
        patch.setattr(sharded_verify, "EDGES_IN_A_SLOT", edges)
        given = from_interest(None, overlay.interest)
        found, weak = sharded_verify.examine_on_cluster(None, overlay, given, weak=True)
    assert weak is not None
    whole, weak_in_whole = verify_overlay(overlay), measure.weak_topics(overlay)
    assert found.split_topics.tolist() == whole.split_topics.tolist()
    assert found.num_split_topics == whole.num_split_topics
    assert found.degrees.maximum == whole.degrees.maximum
    assert found.degrees.average == whole.degrees.average
    assert found.components.total == whole.components.total
    assert found.support == whole.support
    assert found.wrong_contributions.tolist() == whole.wrong_contributions.tolist()
    assert weak.topics.tolist() == weak_in_whole.topics.tolist()
    assert weak.nodes.tolist() == weak_in_whole.nodes.tolist()


@pytest.mark.parametrize(
    ("node", "topic", "counts"),
    [
        ([0, 1, 1], [0, 0, 0], (2, 1, 0)),
        ([0, 1, 2], [0, 0, 0], (2, 0, 1)),
        ([0, 1, -1], [0, 0, 0], (2, 0, 1)),
        ([0, 1, 1], [0, 0, 2], (2, 0, 1)),
        ([0, 1, 1], [0, 0, -1], (2, 0, 1)),
        ([0, 1, 1, 7, 0], [0, 0, 0, 0, -1], (2, 1, 2)),
    ],
)
def test_rows_that_do_not_fit_are_counted(
    node: list[int], topic: list[int], counts: tuple[int, int, int]
) -> None:
    """Rows that repeat, or name what does not exist, are counted and change nothing else."""
    task = ShardTask(np.array([0], np.int32), np.array([1], np.int32), 2, 2, weak=False)
    found = examine_shard(task, np.array(node, np.int32), np.array(topic, np.int32))
    assert (found.subscriptions, found.repeated, found.outside) == counts
    assert (found.topics.tolist(), found.components.tolist(), found.gains.tolist()) == ([0], [1], [1])


def test_weak_topics_are_looked_for_on_request_only() -> None:
    """Without a request the findings have no weak topics, however weak they are."""
    interest = Interest.from_dict({"a": {"x"}, "b": {"x"}})
    overlay = Overlay.empty(interest)
    rows = interest.node_of_slot, interest.node_topics
    asked, silent = (examine_shard(task_of(overlay, weak=weak), *rows) for weak in (True, False))
    assert (asked.weak_topics.tolist(), asked.weak_nodes.tolist()) == ([0], [-1])
    assert (silent.weak_topics.tolist(), silent.weak_nodes.tolist()) == ([], [])


@pytest.mark.parametrize("order", permutations(range(3)))
def test_the_order_of_rows_does_not_matter(order: tuple[int, ...]) -> None:
    """Rows in any order give the same findings, even if nodes fall while topics rise."""
    node, topic = np.array([0, 1, 2], np.int32), np.array([1, 0, 1], np.int32)
    task = ShardTask(np.array([0, 0], np.int32), np.array([1, 2], np.int32), 3, 2, weak=True)
    found = examine_shard(task, node[list(order)], topic[list(order)])
    assert (found.topics.tolist(), found.components.tolist()) == ([0, 1], [1, 1])
    assert found.gains.tolist() == [0, 1]


@pytest.mark.parametrize("rows", permutations([(0, 1), (1, 0), (1, 1), (2, 0)]))
def test_rows_of_one_node_may_be_in_any_order(rows: tuple[tuple[int, int], ...]) -> None:
    """Several topics of a node, in any order and apart from each other, are all found."""
    node, topic = np.array(rows, np.int32).T
    task = ShardTask(np.array([0, 1], np.int32), np.array([1, 2], np.int32), 3, 2, weak=False)
    found = examine_shard(task, node, topic)
    assert (found.subscriptions, found.repeated) == (4, 0)
    assert (found.components.tolist(), found.gains.tolist()) == ([1, 1], [1, 1])
