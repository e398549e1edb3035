"""One batch of rows against the state before it: events, the state after it, and what changed nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from meshwright.pipeline.changes import FIRST, Node, Row

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

STATE = "node string, topic string, time double, sequence long, held boolean"
RESULT = f"{STATE}, event string, topics array<string>, turn int, unchanged long, superseded long"
"""Rows of the state (with a topic), events (with an event), and counts (with neither) of a node."""


@dataclass(frozen=True, eq=False)
class Batch:
    """What a batch gives."""

    events: list[dict[str, Any]]
    state: DataFrame
    read: int
    unchanged: int
    superseded: int
    kept: DataFrame

    def release(self) -> None:
        """Let the executors forget what events and state were made from."""
        self.kept.unpersist()


def advanced(rows: DataFrame, known: DataFrame, first: int) -> Batch:
    """Apply the good rows of a batch, node by node on the executors; number its events from `first` on."""
    from pyspark.sql import functions as sf

    good = rows.where(sf.col("reason").isNull()).select(
        "node", "topic", "time", "sequence", "leaves", "source", "block", "place"
    )
    touched = good.select("node").distinct()
    concerned = known.join(touched, "node", "left_semi")
    made = good.groupBy("node").cogroup(concerned.groupBy("node")).applyInArrow(_of_node, RESULT).persist()
    events = [
        {
            "sequence": first + number,
            "time": None if row.time == float("-inf") else row.time,
            "event": row.event,
            "node": row.node,
            "topics": list(row.topics),
        }
        for number, row in enumerate(
            made.where(sf.col("event").isNotNull())
            .orderBy("time", "sequence", "node", "turn")
            .toLocalIterator()
        )
    ]
    counts = (
        made.where(sf.col("unchanged").isNotNull())
        .agg(
            sf.coalesce(sf.sum("unchanged"), sf.lit(0)).alias("unchanged"),
            sf.coalesce(sf.sum("superseded"), sf.lit(0)).alias("superseded"),
        )
        .collect()[0]
    )
    state = made.where(sf.col("topic").isNotNull()).select("node", "topic", "time", "sequence", "held")
    untouched = known.join(touched, "node", "left_anti").select(*state.columns)
    return Batch(
        events, state.unionByName(untouched), rows.count(), counts.unchanged, counts.superseded, made
    )


def _of_node(given: pa.Table, known: pa.Table) -> pa.Table:
    """Run on an executor: apply the rows of one node to what is known of it."""
    import pyarrow as pa

    node = Node({row["topic"]: ((row["time"], row["sequence"]), row["held"]) for row in known.to_pylist()})
    ordered = sorted(
        given.to_pylist(), key=lambda row: (_stamp(row), row["source"], row["block"], row["place"])
    )
    name = ordered[0]["node"]
    changes = list(node.take(Row(_stamp(row), row["topic"], bool(row["leaves"])) for row in ordered))
    made: list[dict[str, Any]] = [
        {
            "node": name,
            "time": change.stamp[0],
            "sequence": change.stamp[1],
            "event": change.event,
            "topics": change.topics,
            "turn": turn,
        }
        for turn, change in enumerate(changes)
    ]
    made += [
        {"node": name, "topic": topic, "time": stamp[0], "sequence": stamp[1], "held": held}
        for topic, (stamp, held) in node.known.items()
    ]
    made.append({"node": name, "unchanged": node.unchanged, "superseded": node.superseded})
    return pa.Table.from_pylist(made, schema=_schema())


def _stamp(row: dict[str, Any]) -> tuple[float, int]:
    time, sequence = row["time"], row["sequence"]
    return (FIRST[0] if time is None else time, FIRST[1] if sequence is None else sequence)


def _schema() -> pa.Schema:
    import pyarrow as pa

    kinds = {
        "string": pa.string(),
        "double": pa.float64(),
        "long": pa.int64(),
        "boolean": pa.bool_(),
        "int": pa.int32(),
        "array<string>": pa.list_(pa.string()),
    }
    return pa.schema([(name, kinds[kind]) for name, kind in (field.split() for field in RESULT.split(", "))])
