"""Apply a batch of rows to the state before it: gives events, the new state and counts.

A node joins with its first topics and leaves with its last one. Rows apply in the order of time, sequence and
position. A row that is older than the last known row of its node and topic is superseded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from meshwright.pipeline.dataflow import Batches, arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


Stamp: TypeAlias = tuple[Any, ...]
"""Time, sequence, file, stretch and place; rows without time or sequence come before rows with them."""

FIRST: Stamp = (float("-inf"), -(2**63), "", -1, -1)


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

    def take(self, rows: Iterable[Row], horizon: float | None = None) -> Iterator[Change]:
        """Apply rows in order, and yield the changes; changes of the same time are merged.

        A row from before the horizon comes too late if its topic has no state: it may have had one.
        """
        holds = sum(held for _, held in self.known.values())
        open_change: Change | None = None
        for row in rows:
            stamp, held = self.known.get(row.topic, (None, False))
            late = horizon is not None and stamp is None and FIRST[0] < row.stamp[0] < horizon
            if late or (stamp is not None and row.stamp < stamp):
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


STATE = (
    "node string, topic string, time double, sequence long, source string, block long, place long, "
    "held boolean, batch long"
)
"""The last row of each node and topic, and the batch after which this was the state of the node."""
STAMP = ("time", "sequence", "source", "block", "place")
RESULT = f"{STATE}, event string, topics array<string>, turn int, unchanged long, superseded long"
"""Three kinds of rows of a node: its state (with a topic), events (with an event), counts (with neither)."""


@dataclass(frozen=True, eq=False)
class Batch:
    """The result of a batch, on the executors."""

    made: DataFrame
    """Rows of `RESULT`, for the nodes that the batch has."""
    read: int
    quarantined: int
    unchanged: int
    superseded: int
    latest: float | None
    """The latest time of the good rows."""

    @property
    def state(self) -> DataFrame:
        """The new state of the nodes that the batch has."""
        from pyspark.sql import functions as sf

        columns = [field.split()[0] for field in STATE.split(", ")]
        return self.made.where(sf.col("topic").isNotNull()).select(*columns)

    @property
    def events(self) -> DataFrame:
        """The events, in order, in one partition."""
        from pyspark.sql import functions as sf

        found = self.made.where(sf.col("event").isNotNull()).select(
            sf.when(sf.col("time") > float("-inf"), sf.col("time")).alias("time"),
            "event",
            "node",
            "topics",
            sf.col("time").alias("order"),
            "sequence",
            "turn",
        )
        ordered = found.repartition(1).sortWithinPartitions("order", "sequence", "node", "turn")
        return ordered.select("time", "event", "node", "topics")


def apply_batch(rows: DataFrame, known: DataFrame, number: int, horizon: float | None = None) -> Batch:
    """Apply the good rows of a batch, node by node on the executors.

    `known` may have the state of a node after several batches; the last one counts. Rows before `horizon` of
    nodes and topics without a state come too late.
    """
    from pyspark.sql import functions as sf

    good = rows.where(sf.col("reason").isNull()).select("node", "topic", *STAMP, "leaves")
    # By default, Spark would send small tables to all executors, through the driver.
    concerned = known.join(good.select("node").distinct().hint("merge"), "node", "left_semi")
    # One task takes many nodes at once: a call from Java to Python for each node takes about a millisecond.
    both = good.unionByName(concerned, allowMissingColumns=True).repartition("node")
    apply = partial(apply_to_nodes, number, horizon)
    made = both.sortWithinPartitions("node").mapInArrow(apply, RESULT).persist()
    seen = rows.agg(
        sf.count(sf.lit(1)).alias("read"),
        sf.count("reason").alias("bad"),
        sf.max(sf.when(sf.col("reason").isNull(), sf.col("time"))).alias("latest"),
    ).collect()[0]
    counts = made.agg(
        sf.coalesce(sf.sum("unchanged"), sf.lit(0)).alias("unchanged"),
        sf.coalesce(sf.sum("superseded"), sf.lit(0)).alias("superseded"),
    ).collect()[0]
    return Batch(made, seen.read, seen.bad, counts.unchanged, counts.superseded, seen.latest)


def latest_states(known: DataFrame, forget_before: float | None) -> DataFrame:
    """Return only the last state of each node, without unsubscribes from before a time."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    last = sf.max("batch").over(Window.partitionBy("node"))
    found = known.withColumn("last", last).where(sf.col("batch") == sf.col("last")).drop("last")
    if forget_before is None:
        return found
    return found.where(sf.col("held") | (sf.col("time") >= forget_before))


ROWS_AT_ONCE = 10_000


def apply_to_nodes(number: int, horizon: float | None, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Apply rows to the states before them, on an executor; both come together, node by node.

    A row of a state says after which batch it was the state; a row of this batch does not.
    """
    schema = arrow_schema(RESULT)
    every = (row for batch in batches for row in batch.to_pylist())
    made: list[dict[str, Any]] = []
    for name, of_node in groupby(every, key=itemgetter("node")):
        made += _apply_to_node(number, horizon, name, list(of_node))
        if len(made) >= ROWS_AT_ONCE:
            yield pa.RecordBatch.from_pylist(made, schema=schema)
            made = []
    if made:
        yield pa.RecordBatch.from_pylist(made, schema=schema)


def _apply_to_node(
    number: int, horizon: float | None, name: str, rows: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the new state of one node, its events and its counts."""
    states = [row for row in rows if row["batch"] is not None]
    last = max((row["batch"] for row in states), default=0)
    node = Node({row["topic"]: (_stamp(row), row["held"]) for row in states if row["batch"] == last})
    given = sorted((row for row in rows if row["batch"] is None), key=_stamp)
    applied = (Row(_stamp(row), row["topic"], bool(row["leaves"])) for row in given)
    changes = list(node.take(applied, horizon))
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
        {"node": name, "topic": topic, **dict(zip(STAMP, stamp, strict=True)), "held": held, "batch": number}
        for topic, (stamp, held) in node.known.items()
    ]
    made.append({"node": name, "unchanged": node.unchanged, "superseded": node.superseded})
    return made


def _stamp(row: dict[str, Any]) -> Stamp:
    """Return what orders a row: time, sequence, and where it stands, as `ingest` orders rows."""
    found = (row[name] for name in STAMP)
    return tuple(first if value is None else value for value, first in zip(found, FIRST, strict=True))
