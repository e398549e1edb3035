"""Verifying on a cluster finds what verifying in one process finds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import meshwright as mw
from meshwright import measure
from meshwright.errors import FormatError, InputError
from meshwright.filters.filter_plan import FilterChoice, plan_filters
from meshwright.interest import Interest
from meshwright.overlay import Overlay, unchecked_overlay
from meshwright.pipeline.dataset.subscriptions import from_interest, subscriptions
from meshwright.pipeline.plans.links import read_links
from meshwright.pipeline.plans.sharded_verify import examine_links, examine_on_cluster, verify_on_cluster
from meshwright.plan_tables import EDGES, GROUPS
from meshwright.store import dataset_parts
from meshwright.store.datasets import write_dataset
from meshwright.store.plan_check import verify_stored_plan
from meshwright.store.plan_parts import EDGES_FILE
from meshwright.store.plan_writer import write_plan
from meshwright.store.plans import read_plan
from meshwright.verify import verify_overlay
from meshwright.workloads import zipf

if TYPE_CHECKING:
    from conftest import Engine


@pytest.fixture(scope="module")
def interest() -> Interest:
    """Return subscriptions with a topic that most nodes have."""
    return zipf(300, 40, min_size=2, max_size=12, alpha=1.5, seed=3).canonical()


@pytest.mark.parametrize("algorithm", ["gm", "resilient"])
def test_a_plan_is_reported_as_without_spark(
    engine: Engine, interest: Interest, tmp_path: Path, algorithm: str
) -> None:
    """A true plan passes with the same report, from a dataset and from a file."""
    write_dataset(interest, tmp_path / "dataset")
    pq.write_table(interest.to_arrow(), tmp_path / "file.parquet")
    write_plan(mw.design(interest, algorithm), tmp_path / "plan")
    here = verify_stored_plan(tmp_path / "plan", interest)
    for source in ("dataset", "file.parquet"):
        there = verify_on_cluster(engine, tmp_path / "plan", tmp_path / source)
        assert there.passed
        assert there.verification.support == here.verification.support == 1
        assert there.verification.components.total == here.verification.components.total
        assert (there.k, there.disagreements) == (here.k, here.disagreements)
        assert (there.weak is None) == (here.weak is None)


def test_datasets_of_schema_1(engine: Engine, interest: Interest, tmp_path: Path) -> None:
    """Plans for an older dataset pass, whether they state its own fingerprint or today's; others do not."""
    dataset = write_dataset(interest, tmp_path / "dataset")
    manifest = json.loads((dataset / "manifest.json").read_text())
    manifest |= {"schema": 1, "fingerprint": interest.whole_fingerprint}
    (dataset / "manifest.json").write_text(json.dumps(manifest))
    plan = write_plan(mw.design(interest, "gm"), tmp_path / "plan")
    for stated in (interest.fingerprint, interest.whole_fingerprint):
        described = json.loads((plan / "plan.json").read_text())
        (plan / "plan.json").write_text(json.dumps(described | {"dataset": stated}))
        assert verify_on_cluster(engine, plan, dataset).passed
    other = write_plan(mw.design(zipf(300, 40, size=3, seed=4), "gm"), tmp_path / "other")
    with pytest.raises(InputError, match="another dataset"):
        verify_on_cluster(engine, other, dataset)


def test_groups_of_filters_are_derived_and_verified(engine: Engine, tmp_path: Path) -> None:
    """A plan of groups passes from a dataset and a file; a changed table and a missing link are found."""
    held = {
        "berlin": ["s1/#", "x"],
        "oslo": ["s1/a", "+/b"],
        "rome": ["s2/b"],
        "hq": ["#"],
        "ulm": ["x", "y"],
    }
    interest = Interest.from_dict(held).canonical()
    write_dataset(interest, tmp_path / "dataset")
    pq.write_table(interest.to_arrow(), tmp_path / "file.parquet")
    filters = plan_filters(interest, FilterChoice(expanded=("#",)))
    made = mw.design(filters.groups, "gm")
    write_plan(replace(made, filters=filters), tmp_path / "plan")
    for source in ("dataset", "file.parquet"):
        there = verify_on_cluster(engine, tmp_path / "plan", tmp_path / source)
        assert there.passed
        assert there.overlay is not None
        assert there.overlay.interest.num_topics == filters.groups.num_topics == 3
    pq.write_table(Interest.from_dict(held | {"ulm": ["x"]}).to_arrow(), tmp_path / "other.parquet")
    with pytest.raises(InputError, match="another dataset"):
        verify_on_cluster(engine, tmp_path / "plan", tmp_path / "other.parquet")
    few = unchecked_overlay(
        filters.groups, made.overlay.u[1:], made.overlay.v[1:], made.overlay.contribution[1:]
    )
    write_plan(replace(made, overlay=few, filters=filters), tmp_path / "plan")
    groups = pq.read_table(tmp_path / "plan" / "groups.parquet").to_pydict()
    groups["group"][0] = "y"
    pq.write_table(pa.table(groups, schema=GROUPS), tmp_path / "plan" / "groups.parquet")
    here = verify_stored_plan(tmp_path / "plan", interest)
    there = verify_on_cluster(engine, tmp_path / "plan", tmp_path / "dataset")
    assert not there.passed
    assert there.disagreements == here.disagreements
    assert any("groups of the filters" in line for line in there.disagreements)
    assert there.verification.split_topics.tolist() == here.verification.split_topics.tolist() != []


def test_a_broken_plan_is_reported_as_without_spark(
    engine: Engine, interest: Interest, tmp_path: Path
) -> None:
    """The same split topics, weak topics and wrong contributions are found."""
    overlay = mw.design(interest, "gm").overlay
    keep = np.arange(len(overlay)) % 7 != 3
    broken = unchecked_overlay(interest, overlay.u[keep], overlay.v[keep], overlay.contribution[keep])
    found, weak = examine_on_cluster(engine, broken, from_interest(engine, interest), weak=True)
    here, weak_here = verify_overlay(broken), measure.weak_topics(broken)
    assert len(here.split_topics) > 3
    assert found.split_topics.tolist() == here.split_topics.tolist()
    assert found.components.total == here.components.total
    assert found.support == here.support
    assert found.wrong_contributions.tolist() == here.wrong_contributions.tolist() != []
    assert weak is not None
    assert (weak.topics.tolist(), weak.nodes.tolist()) == (
        weak_here.topics.tolist(),
        weak_here.nodes.tolist(),
    )


def test_links_on_executors_are_numbered_as_here(
    interest: Interest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links that executors read and number are those of the overlay, in any number of row groups."""
    monkeypatch.setattr(dataset_parts, "NAMES_IN_A_STEP", 64)
    monkeypatch.setattr(dataset_parts, "NAMES_AT_ONCE", 64)
    given = subscriptions(None, write_dataset(interest, tmp_path / "dataset"))
    plan = mw.design(interest, "gm")
    stored = read_plan(write_plan(plan, tmp_path / "plan"))
    edges = pq.read_table(tmp_path / "plan" / "edges.parquet")
    pq.write_table(edges, tmp_path / "plan" / "edges.parquet", row_group_size=100)
    links = read_links(None, stored, given)
    rows = sorted(links.flow.collect(), key=lambda row: row.first)
    overlay = plan.overlay
    for name, expected in (("u", overlay.u), ("v", overlay.v), ("stated", overlay.contribution)):
        read = np.concatenate([np.frombuffer(row[name], "<i4") for row in rows])
        assert read.tolist() == expected.tolist()
    found, _ = examine_links(None, links, given)
    here = verify_overlay(plan.overlay)
    assert (found.connected, found.support, found.degrees.maximum) == (True, 1.0, here.degrees.maximum)
    twice = pa.concat_tables([edges, edges.slice(5, 1)])
    renamed = pa.array(["nobody", *edges.column("v").to_pylist()[1:]])
    ranked = edges.set_column(0, "rank", pa.array(np.arange(len(edges))[::-1], pa.int32()))
    for damage, match in (
        (twice.set_column(0, "rank", pa.array(range(len(twice)), pa.int32())), "appear more than once"),
        (edges.set_column(2, "v", renamed), "names the unknown nodes 'nobody'|not every u < v"),
        (ranked, "ranks are not"),
        (edges.drop_columns("u"), "no column 'u'"),
    ):
        pq.write_table(damage.cast(EDGES) if "u" in damage.column_names else damage, stored.path / EDGES_FILE)
        with pytest.raises(FormatError, match=match):
            examine_links(None, read_links(None, stored, given), given)


def test_data_that_does_not_match_is_rejected(interest: Interest, tmp_path: Path) -> None:
    """Another dataset, a damaged one, or none at all: one line each."""
    write_plan(mw.design(interest, "gm"), tmp_path / "plan")
    write_dataset(zipf(50, 10, size=3, seed=1), tmp_path / "other")
    with pytest.raises(InputError, match="made for another dataset"):
        verify_on_cluster(None, tmp_path / "plan", tmp_path / "other")
    with pytest.raises(InputError, match="nothing is there"):
        verify_on_cluster(None, tmp_path / "plan", tmp_path / "none")
    write_dataset(interest, tmp_path / "dataset")
    manifest = json.loads((tmp_path / "dataset" / "manifest.json").read_text())
    part = next((tmp_path / "dataset" / "subscriptions").glob("*.parquet"))
    table = pq.read_table(part)
    pq.write_table(table.slice(1), part)
    with pytest.raises(
        FormatError, match=f"{table.num_rows - 1} subscriptions.* {table.num_rows} are stated"
    ):
        verify_on_cluster(None, tmp_path / "plan", tmp_path / "dataset")
    manifest["counts"]["nodes"] += 1
    (tmp_path / "dataset" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(FormatError, match="does not state"):
        verify_on_cluster(None, tmp_path / "plan", tmp_path / "dataset")


def test_without_edges_or_subscriptions() -> None:
    """Without subscriptions everything is connected; without edges, topics are split."""
    nothing = Interest.from_pairs(pa.array([], pa.string()), pa.array([], pa.string()))
    found, _ = examine_on_cluster(None, Overlay.empty(nothing), from_interest(None, nothing))
    assert (found.connected, found.support, found.contributions_agree) == (True, 1.0, True)
    pair = Interest.from_dict({"a": {"t"}, "b": {"t"}})
    found, _ = examine_on_cluster(None, Overlay.empty(pair), from_interest(None, pair))
    assert (found.split_topics.tolist(), found.support) == ([0], 0.0)
