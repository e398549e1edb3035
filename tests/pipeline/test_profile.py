"""Profiles have the figures of numpy, and samples keep all relations among their nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright import Interest, load_interest
from meshwright.errors import FormatError, InputError
from meshwright.pipeline.dataset.joint_names import ClusterNames, LocalNames
from meshwright.pipeline.dataset.profile import Distribution, count_groups, profile
from meshwright.pipeline.dataset.sample import free_numbers, sample
from meshwright.pipeline.dataset.subscriptions import from_interest, subscriptions
from meshwright.store import dataset_parts
from meshwright.store.datasets import write_dataset
from meshwright.workloads import zipf
from terminal import meshwright

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from conftest import Engine

ZIPF = zipf(200, 50, min_size=2, max_size=20, seed=4)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60))
def test_distributions_are_those_of_numpy(values: list[int]) -> None:
    """Mean, quantiles, CCDF, Gini and top shares equal those computed from the values directly."""
    numbers, counts = np.unique(values, return_counts=True)
    made = Distribution(numbers, counts)
    ordered = np.sort(values)
    assert made.mean == pytest.approx(np.mean(values))
    assert made.quantile(0.5) == np.quantile(values, 0.5, method="inverted_cdf")
    assert made.ccdf.tolist() == pytest.approx([np.mean(ordered >= number) for number in numbers])
    if ordered.sum():
        differences = np.abs(ordered[:, None] - ordered[None, :]).sum()
        assert made.gini == pytest.approx(differences / (2 * len(ordered) * ordered.sum()))
        top = ordered[::-1][: len(ordered)]
        assert made.share_of_top(1.0) == pytest.approx(1.0)
        assert made.share_of_top(1 / len(ordered)) == pytest.approx(top[0] / ordered.sum())


def test_a_profile_equals_the_interest(engine: Engine, tmp_path: Path) -> None:
    """Sizes, popularity, hot topics and overlap equal those of the interest itself."""
    interest = ZIPF.canonical()
    made = profile(subscriptions(engine, write_dataset(interest, tmp_path / "data")))
    sizes, popularity = np.diff(interest.node_ptr), np.diff(interest.topic_ptr)
    assert np.repeat(made.sizes.values, made.sizes.counts).tolist() == sorted(sizes)
    assert np.repeat(made.popularity.values, made.popularity.counts).tolist() == sorted(popularity)
    assert made.hot[0][1] == popularity.max()
    common = np.triu((interest.to_scipy() @ interest.to_scipy().T).toarray(), k=1)
    assert made.shared == pytest.approx(common.sum() / (common > 0).sum())
    assert made.related == pytest.approx((common > 0).sum() / (200 * 199 / 2))


def ring_of_followers() -> dict[str, set[str]]:
    """Return twenty people who follow the next two, and one who follows somebody who follows nobody."""
    return {f"p{i}": {f"p{(i + 1) % 20}", f"p{(i + 2) % 20}"} for i in range(20)} | {"far": {"away"}}


def test_a_sample_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    """A sample on Spark, whose names stay there, is the one that this process takes."""
    place = write_dataset(Interest.from_dict(ring_of_followers()), tmp_path / "data")
    there, here = (sample(subscriptions(where, place), 8, seed=5) for where in (spark, None))
    assert there.by == "follow"
    assert (there.seeds, there.levels) == (here.seeds, here.levels)
    assert there.interest.fingerprint == here.interest.fingerprint


def test_a_sample_of_followers(tmp_path: Path) -> None:
    """The search takes near nodes first, and keeps all relations among the nodes taken."""
    ring = ring_of_followers()
    whole = Interest.from_dict(ring)
    source = subscriptions(None, write_dataset(whole, tmp_path / "data"))
    made = sample(source, 9, start=["p5"])
    assert made.by == "follow"
    assert set(made.interest.node_names.to_pylist()) == {f"p{i}" for i in range(1, 10)}
    for node in made.interest.node_names.to_pylist():
        assert set(made.interest.topics_of(node)) == ring[node] & {f"p{i}" for i in range(1, 10)}
    assert set(sample(source, 100, start=["far"]).interest.topics_of("far")) == {"away"}
    everybody = sample(source, 100, seed=3)
    assert everybody.interest.fingerprint == whole.fingerprint
    first, again = sample(source, 7, seed=3), sample(source, 7, seed=3)
    assert (first.seeds, first.interest.fingerprint) == (again.seeds, again.interest.fingerprint)
    assert len(first.seeds) == 3
    with pytest.raises(InputError, match="no node is named 'nobody'"):
        sample(source, 5, start=["nobody"])


@pytest.mark.parametrize("at_once", [2, 1 << 16])
def test_names_on_executors_are_numbered_as_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """Both numberings of nodes and topics agree, in any number of row groups and parts."""
    monkeypatch.setattr(dataset_parts, "NAMES_IN_A_STEP", at_once)
    monkeypatch.setattr(dataset_parts, "NAMES_AT_ONCE", at_once)
    whole = Interest.from_dict({f"p{i}": {f"p{i + 3}", f"only{i % 4}", "é"} for i in range(9)})
    given = subscriptions(None, write_dataset(whole.canonical(), tmp_path / "data"))
    here, there = LocalNames(given.names), ClusterNames(None, given, match=True)
    assert (here.nodes, here.topics, here.shared) == (there.nodes, there.topics, there.shared)
    every = np.arange(here.topics)
    numbers = here.numbers_of_topics(every)
    assert there.numbers_of_topics(every).tolist() == numbers.tolist()
    assert sorted(numbers[numbers >= here.nodes].tolist()) == list(range(here.nodes, here.count))
    for some in (numbers, numbers[:1], np.array([here.count]), np.zeros(0, dtype=np.int64)):
        assert there.topics_of(some).tolist() == here.topics_of(some).tolist()
    names = ["p1", "p11", "only2", "é", "nobody"]
    assert there.find(names).tolist() == here.find(names).tolist()
    assert there.names_of(range(here.count)) == here.names_of(range(here.count))


@given(st.sets(st.integers(0, 12), max_size=9), st.data())
def test_free_numbers(taken: set[int], data: st.DataObject) -> None:
    """The numbers at places among the free ones are those that a list of the free ones has there."""
    free = [number for number in range(20) if number not in taken]
    places = data.draw(st.lists(st.integers(0, len(free) - 1), max_size=5))
    found = free_numbers(np.array(places, dtype=np.int64), np.array(sorted(taken), dtype=np.int64))
    assert found.tolist() == [free[place] for place in places]


def test_a_sample_by_topics(tmp_path: Path) -> None:
    """If topics are not nodes, neighbours share a topic, and each node keeps all its topics."""
    whole = Interest.from_dict({"a": {1}, "b": {1, 2}, "c": {2, 3}, "d": {3}, "e": {9}}).canonical()
    source = subscriptions(None, write_dataset(whole, tmp_path / "data"))
    made = sample(source, 3, start=["a"])
    assert made.by == "topics"
    assert made.interest.to_arrow().to_pylist() == [
        {"node": node, "topic": topic}
        for node, topic in [("a", "1"), ("b", "1"), ("b", "2"), ("c", "2"), ("c", "3")]
    ]


def test_commands(tmp_path: Path) -> None:
    """`sample` writes a dataset, and `profile` compares it with the original, also in a chart."""
    data = write_dataset(ZIPF, tmp_path / "data")
    taken = meshwright("sample", data, "--nodes", "30", "--out", tmp_path / "part", "--json").json
    assert (taken["nodes"], taken["by"]) == (30, "topics")
    assert load_interest(tmp_path / "part").num_nodes == 30
    answer = meshwright("profile", tmp_path / "part", "--against", data, "--chart", tmp_path / "c.png")
    assert (answer.code, answer.err) == (0, "")
    assert "hot topics" in answer.out
    assert (tmp_path / "c.png").stat().st_size > 10_000


def test_wrong_paths_are_errors_before_spark_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path without anything, or with something else, needs no Java to be seen."""
    monkeypatch.setattr("meshwright.actions.spark.SparkOptions.open", None)
    data = write_dataset(ZIPF, tmp_path / "data")
    assert meshwright("plan", data, "--out", tmp_path / "plan").code == 0
    out = ("--out", tmp_path / "out", "--master", "local[2]")
    for words in (
        ("profile", tmp_path / "none", "--master", "local[2]"),
        ("profile", data, "--against", tmp_path / "none", "--master", "local[2]"),
        ("sample", tmp_path / "none", "--nodes", "3", *out),
        ("verify", tmp_path / "plan", tmp_path / "none", "--master", "local[2]"),
    ):
        assert "nothing is there" in meshwright(*words).complaint
    assert "is not a dataset" in meshwright("profile", tmp_path / "plan", "--master", "local[2]").complaint


def test_damaged_datasets_are_refused(tmp_path: Path) -> None:
    """Too few subscriptions, or subscriptions of unknown nodes, are neither profiled nor sampled."""
    place = write_dataset(ZIPF, tmp_path / "data")
    part = place / "subscriptions" / "part-00000.parquet"
    whole = pq.read_table(part)
    pq.write_table(whole.slice(0, 5), part)
    for use in (profile, lambda source: sample(source, 3)):
        with pytest.raises(FormatError, match="5 subscriptions instead of the stated"):
            use(subscriptions(None, place))
    unknown = whole.set_column(0, whole.schema.field(0), pa.array([9999] * len(whole), pa.int32()))
    pq.write_table(unknown, part)
    with pytest.raises(FormatError, match="ids are not all from 0 to 199"):
        profile(subscriptions(None, place))


def test_a_search_by_topics_starts_with_nodes() -> None:
    """With `topics`, the name of a topic is not a valid start."""
    interest = Interest.from_dict({"a": {"x"}, "b": {"x", "y"}})
    with pytest.raises(InputError, match="no node is named 'x'"):
        sample(from_interest(None, interest), 1, start=["x"], by="topics")


@pytest.mark.parametrize(
    ("node", "topic"), [([0, 3], [0, 0]), ([0, -1], [0, 0]), ([0, 1], [1, 2]), ([0, 1], [0, -1])]
)
def test_a_single_unknown_id_is_damage(node: list[int], topic: list[int]) -> None:
    """One id outside of the stated nodes or topics is enough to refuse the subscriptions."""
    columns = [pa.array([np.array(ids, "<i4").tobytes()], pa.binary()) for ids in (node, topic)]
    batch = pa.record_batch(columns, ["nodes", "topics"])
    with pytest.raises(FormatError, match="some subscriptions have unknown ids"):
        list(count_groups((3, 2), (1, 1), np.array([0], np.int32), iter([batch])))


@pytest.mark.parametrize("most", [1, 2, 100])
def test_counts_in_many_ranges(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges of ids and how many of them a task holds change no figure."""
    expected = profile(from_interest(None, ZIPF)).described()
    monkeypatch.setattr("meshwright.pipeline.dataset.profile.IDS_IN_A_SLOT", 7)
    monkeypatch.setattr("meshwright.pipeline.dataset.profile.SLOTS_IN_MEMORY", most)
    assert profile(from_interest(None, ZIPF)).described() == expected


@pytest.mark.parametrize(("nodes", "by"), [(0, None), (3, "size")])
def test_impossible_samples(nodes: int, by: str | None) -> None:
    """A sample has at least one node, and neighbours are chosen in a known way."""
    nobody: Any = None
    with pytest.raises(InputError, match=r"ask for at least one|choose follow or topics"):
        sample(nobody, nodes, by=by)
