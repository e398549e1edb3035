"""Apply a batch of rows to the state before it: gives events, the new state and counts.

A node joins with its first topics and leaves with its last one. Rows apply in the order of time, sequence and
position. A row that is older than the last known row of its node and topic is superseded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


Stamp: TypeAlias = tuple[float, int]
"""Time and sequence; rows without them come before rows with them."""

FIRST: Stamp = (float("-inf"), -(2**63))


@dataclass(frozen=True)
class Row:
    """One subscribe or unsubscribe of a node."""

    stamp: Stamp
    topic: str
    leaves: bool


@dataclass
class Change:
    """An event of a node: its kind, the stamp of its first row, its topics, and its number of rows."""

    event: str
    stamp: Stamp
    topics: list[str]
    rows: int = 1


@dataclass
class Node:
    """The state of one node: for each topic, the last stamp and whether the node holds it."""

    known: dict[str, tuple[Stamp, bool]] = field(default_factory=dict)
    unchanged: int = 0
    superseded: int = 0

    def take(self, rows: Iterable[Row]) -> Iterator[Change]:
        """Apply rows in order, and yield the changes; changes of the same time are merged."""
        holds = sum(held for _, held in self.known.values())
        open_change: Change | None = None
        for row in rows:
            stamp, held = self.known.get(row.topic, (None, False))
            if stamp is not None and row.stamp < stamp:
                self.superseded += 1
                continue
            self.known[row.topic] = (row.stamp, not row.leaves)
            if held != row.leaves:
                self.unchanged += 1
                continue
            holds += -1 if row.leaves else 1
            # Subscribes of the same time join the open event; a leave has no topics.
            event = (
                ("unsubscribe" if holds else "leave")
                if row.leaves
                else ("join" if holds == 1 else "subscribe")
            )
            same = open_change is not None and open_change.stamp[0] == row.stamp[0]
            follows = {"subscribe": ("join", "subscribe"), "unsubscribe": ("unsubscribe",)}.get(event, ())
            if open_change is not None and same and open_change.event in follows:
                open_change.topics.append(row.topic)
                open_change.rows += 1
                continue
            if open_change is not None:
                yield open_change
            open_change = Change(event, row.stamp, [] if event == "leave" else [row.topic])
        if open_change is not None:
            yield open_change


STATE = "node string, topic string, time double, sequence long, held boolean"
RESULT = f"{STATE}, event string, topics array<string>, turn int, unchanged long, superseded long"
"""Three kinds of rows of a node: its state (with a topic), events (with an event), counts (with neither)."""


@dataclass(frozen=True, eq=False)
class Batch:
    """The result of a batch."""

    events: list[dict[str, Any]]
    state: DataFrame
    read: int
    unchanged: int
    superseded: int
    persisted: DataFrame
    """The rows on the executors that events and state come from."""

    def release(self) -> None:
        """Free the rows on the executors."""
        self.persisted.unpersist()


def apply_batch(rows: DataFrame, known: DataFrame, first: int) -> Batch:
    """Apply the good rows of a batch, node by node on the executors; events are numbered from `first`."""
    from pyspark.sql import functions as sf

    good = rows.where(sf.col("reason").isNull()).select(
        "node", "topic", "time", "sequence", "leaves", "source", "block", "place"
    )
    touched = good.select("node").distinct()
    concerned = known.join(touched, "node", "left_semi")
    made = (
        good.groupBy("node").cogroup(concerned.groupBy("node")).applyInArrow(_apply_to_node, RESULT).persist()
    )
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


def _apply_to_node(given: pa.Table, known: pa.Table) -> pa.Table:
    """Apply the rows of one node to its state, on an executor."""
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
