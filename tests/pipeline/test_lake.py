"""No step sends names or rows through the driver: with a limit of 1 MB, 100,000 names pass all commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from meshwright import load_interest, measure
from meshwright.designs.plan import Plan
from meshwright.overlay import Overlay
from meshwright.pipeline.dataset.ingest import ingest
from meshwright.pipeline.dataset.profile import profile
from meshwright.pipeline.dataset.publications import sum_traffic
from meshwright.pipeline.dataset.sample import sample
from meshwright.pipeline.dataset.subscriptions import subscriptions
from meshwright.pipeline.plans.sharded_verify import verify_on_cluster
from meshwright.store.plan_writer import write_plan
from meshwright.store.traffic import read_traffic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NODES = 100_000
TOPICS = 20_000


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write events of 100,000 nodes with long names: more bytes of names than the driver may receive."""
    rng = np.random.default_rng(3)
    nodes = np.concatenate((np.arange(NODES), rng.integers(0, NODES, 50_000)))
    topics = rng.integers(0, TOPICS, len(nodes))
    leaves = rng.random(len(nodes)) < 0.1
    lines = [
        f"client-{node:040},plant/topic-{topic},{'unsubscribe' if leave else 'subscribe'},{time}\n"
        for time, (node, topic, leave) in enumerate(zip(nodes, topics, leaves, strict=True), start=1)
    ]
    file = tmp_path_factory.mktemp("lake") / "events.csv"
    file.write_text("node,topic,operation,time\n" + "".join(lines))
    return file


@pytest.fixture(scope="module")
def dataset(spark: SparkSession, source: Path) -> Path:
    """Ingest on Spark."""
    ingest(spark, [source], source.parent / "dataset")
    return source.parent / "dataset"


def test_the_limit_holds(spark: SparkSession) -> None:
    """More than a megabyte to the driver is refused: otherwise the other tests here prove nothing."""
    with pytest.raises(Exception, match="maxResultSize"):
        spark.range(0, 400_000, 1, 4).selectExpr("sha(cast(id as string)) as name").collect()


def test_ingest_gives_the_same_as_here(dataset: Path, source: Path) -> None:
    """Spark and this process write the same bytes."""
    ingest(None, [source], source.parent / "here")
    written = [
        {str(file.relative_to(place)): file.read_bytes() for file in place.rglob("*.*")}
        for place in (dataset, source.parent / "here")
    ]
    assert written[0] == written[1]
    assert load_interest(dataset).num_nodes > NODES * 0.8


def test_profile_and_sample_give_the_same_as_here(spark: SparkSession, dataset: Path) -> None:
    """The figures are the same on Spark and in this process."""
    made = [profile(subscriptions(engine, dataset)).described() for engine in (spark, None)]
    assert made[0] == made[1]
    taken = [sample(subscriptions(engine, dataset), 500, seed=4) for engine in (spark, None)]
    assert taken[0].interest.num_nodes == 500
    assert (taken[0].seeds, taken[0].interest.fingerprint) == (taken[1].seeds, taken[1].interest.fingerprint)


def test_verify(spark: SparkSession, dataset: Path, tmp_path: Path) -> None:
    """Stars per topic connect every topic; names and links of the plan stay on the executors."""
    interest = load_interest(dataset)
    order = np.lexsort((interest.node_of_slot, interest.node_topics))
    node, topic = interest.node_of_slot[order], interest.node_topics[order]
    first = np.r_[True, topic[1:] != topic[:-1]]
    hub = node[np.flatnonzero(first)[np.cumsum(first) - 1]]
    pairs = np.unique(np.stack((np.minimum(hub, node), np.maximum(hub, node)), axis=1)[~first], axis=0)
    u, v = (np.ascontiguousarray(column.astype(np.int32)) for column in pairs.T)
    overlay = Overlay(interest, u, v, measure.contributions(interest, u, v))
    write_plan(Plan(overlay, "stars", {}, 0, 0.0), tmp_path / "plan")
    report = verify_on_cluster(spark, tmp_path / "plan", dataset)
    assert (report.passed, report.complete, report.disagreements) == (True, True, ())
    assert report.overlay is None
    assert len(report.outline) == len(overlay) > 50_000


def test_traffic(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    """As many publishers as nodes are summed up, and written by an executor."""
    from meshwright.pipeline.readers.formats import Publications

    made = sum_traffic(spark, [source], tmp_path / "traffic", Publications(publisher="node"))
    assert made.publishers == NODES
    assert len(read_traffic(tmp_path / "traffic").publishers) == NODES


@pytest.mark.slow
def test_names_of_more_than_two_gibibytes(spark: SparkSession, tmp_path: Path) -> None:
    """38,000 names of 60,000 bytes do not fit into one array of strings, and are ingested nevertheless."""
    file = tmp_path / "long.csv"
    with file.open("w") as lines:
        lines.write("node,topic\n")
        for number in range(38_000):
            lines.write(f"{'x' * 59_995}{number:05},t{number % 7}\n")
    outcome = ingest(spark, [file], tmp_path / "out")
    assert (outcome.nodes, outcome.topics, outcome.kept) == (38_000, 7, 38_000)
    interest = load_interest(tmp_path / "out")
    assert interest.node_names[37_999].as_py() == "x" * 59_995 + "37999"
