"""Planning in parts: parts of the nodes are planned separately, then joined through representatives.

Within a part, every topic is connected. So a few nodes of the part that together have all its topics can
represent it, and links between parts need to connect representatives only. Bulk nodes, which have very many
topics, belong to no part and are linked in the last step. The result is topic-connected. It has more links
than the exact design; the smaller the parts, the more. On a cluster each part is a task of its own, and the
driver joins them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from meshwright.arrays import Ids
from meshwright.designs.plan import Parameter, Plan
from meshwright.errors import InputError
from meshwright.greedy import grow, rules
from meshwright.greedy.engine import Start
from meshwright.greedy.rules import Rule
from meshwright.interest import Interest, unchecked_interest
from meshwright.jit.announce import working_seconds
from meshwright.overlay import Overlay, unchecked_overlay
from meshwright.pipeline.dataflow import Batches, make_batch, send
from meshwright.pipeline.plans.cover_kernel import cover
from meshwright.pipeline.session.jobs import report_stages, spark_errors
from meshwright.progress import Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BULK = 4.0
"""A node with more than this multiple of the average number of topics is a bulk node."""


class Division(NamedTuple):
    """The bulk nodes, and the nodes of each part; all ascending."""

    bulk: Ids
    parts: list[Ids]


class Part(NamedTuple):
    """The links of a part with their contributions, and its representatives; all in ids of the part."""

    u: Ids
    v: Ids
    contribution: Ids
    representatives: Ids


Solver: TypeAlias = Callable[[list[Interest], Rule, int], Iterable[Part]]
"""Plans parts with a rule and a coverage, one after the other or on a cluster."""


def split(interest: Interest, parts: int, seed: int) -> Division:
    """Assign the nodes at random to parts of equal size, except bulk nodes."""
    sizes = np.diff(interest.node_ptr)
    heavy = sizes > BULK * max(float(sizes.mean()), 1.0) if len(sizes) else np.zeros(0, dtype=bool)
    light = np.flatnonzero(~heavy).astype(np.int32)
    dealt = np.random.Generator(np.random.PCG64(seed)).permutation(light)
    return Division(np.flatnonzero(heavy).astype(np.int32), [np.sort(dealt[i::parts]) for i in range(parts)])


def restrict(interest: Interest, nodes: NDArray[Any]) -> Interest:
    """Return the interest of some nodes, renumbered by position; topics keep their ids."""
    begin, sizes = interest.node_ptr[nodes], np.diff(interest.node_ptr)[nodes]
    node_ptr = np.concatenate(([0], np.cumsum(sizes)))
    at = np.repeat(begin - node_ptr[:-1], sizes) + np.arange(node_ptr[-1])
    return unchecked_interest(
        pa.nulls(len(nodes)), pa.nulls(interest.num_topics), node_ptr, interest.node_topics[at]
    )


def representatives(interest: Interest, coverage: int) -> Ids:
    """Return few nodes that cover each topic `coverage` times, or as often as it has subscribers."""
    subscribers = np.bincount(interest.node_topics, minlength=interest.num_topics)
    demand = np.minimum(subscribers, coverage).astype(np.int32)
    chosen = cover(interest.node_ptr, interest.node_topics, demand)
    return np.flatnonzero(chosen).astype(np.int32)


def solve(interest: Interest, rule: Rule, coverage: int) -> Part:
    """Plan one part."""
    overlay = grow(interest, rule)
    return Part(overlay.u, overlay.v, overlay.contribution, representatives(interest, coverage))


def solve_here(interests: list[Interest], rule: Rule, coverage: int) -> Iterable[Part]:
    """Plan parts one after the other in this process."""
    for interest in interests:
        yield solve(interest, rule, coverage)


def join(
    interest: Interest,
    rule: Rule,
    division: Division,
    planned: list[tuple[Ids, Part]],
    links: list[tuple[Ids, Ids]],
) -> tuple[Ids, Ids, Ids]:
    """Link representatives and bulk nodes until every topic is connected."""
    standing = [nodes[part.representatives] for nodes, part in planned]
    nodes = np.sort(np.concatenate((division.bulk, *standing)))
    small = restrict(interest, nodes)
    keys = np.unique(np.concatenate([_chains(small, np.searchsorted(nodes, own)) for own in standing]))
    ends = np.concatenate([end for pair in links for end in pair])
    degrees = np.bincount(ends, minlength=interest.num_nodes)
    # An extra node without topics carries the maximum degree of all nodes that are not here.
    small = unchecked_interest(
        pa.nulls(len(nodes) + 1),
        small.topic_names,
        np.append(small.node_ptr, small.node_ptr[-1:]),
        small.node_topics,
    )
    start = unchecked_overlay(
        small, keys // (len(nodes) + 1), keys % (len(nodes) + 1), np.zeros(len(keys), dtype=np.int32)
    )
    given = np.append(degrees[nodes], degrees.max(initial=0))
    joined = grow(small, rule, start=Start(start, given))
    new = slice(len(start), None)
    return nodes[joined.u[new]], nodes[joined.v[new]], joined.contribution[new]


def _chains(small: Interest, own: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return pairs u · (nodes + 1) + v that connect the representatives of a part, topic by topic.

    They stand for the connections through nodes of the part that are not here. They connect nothing else: the
    part has connected every topic that such a pair shares.
    """
    mine = restrict(small, own)
    order = np.argsort(mine.node_topics, kind="stable")
    topic, node = mine.node_topics[order], own[mine.node_of_slot[order]]
    same = topic[1:] == topic[:-1]
    pairs: NDArray[np.int64] = node[:-1][same] * (small.num_nodes + 1) + node[1:][same]
    return pairs


SAMPLE_NODES = 10_000
"""The size of the sample that is planned both ways to measure the loss."""


@dataclass(frozen=True)
class Loss:
    """The links of a sample of nodes by the exact design and by dividing."""

    nodes: int
    exact: int
    divided: int

    @property
    def share(self) -> float:
        """The extra links as a share of the links of the exact design."""
        return self.divided / self.exact - 1 if self.exact else 0.0


def divide(
    interest: Interest,
    rule: Rule,
    *,
    parts: int,
    coverage: int = 3,
    seed: int = 0,
    solver: Solver = solve_here,
) -> Overlay:
    """Plan parts of the nodes separately and join them; the same seed gives the same overlay everywhere."""
    division = split(interest, parts, seed)
    solved = solver([restrict(interest, nodes) for nodes in division.parts], rule, coverage)
    planned = list(zip(division.parts, solved, strict=True))
    columns = [(nodes[part.u], nodes[part.v], part.contribution) for nodes, part in planned]
    columns.append(join(interest, rule, division, planned, [column[:2] for column in columns]))
    u, v, gains = (np.concatenate(column) for column in zip(*columns, strict=True))
    return unchecked_overlay(interest, u, v, gains)


def loss(interest: Interest, rule: Rule, *, parts: int, coverage: int, seed: int) -> Loss:
    """Plan a sample of the nodes both ways, and return the number of links of each.

    The parts of the sample are smaller than those of the full plan, so the full plan usually loses less.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    nodes = np.sort(rng.permutation(interest.num_nodes)[:SAMPLE_NODES]).astype(np.int32)
    sample = restrict(interest, nodes)
    divided = divide(sample, rule, parts=parts, coverage=coverage, seed=seed)
    return Loss(len(nodes), len(grow(sample, rule)), len(divided))


RULES: dict[str, Callable[..., Rule]] = {
    "gm": lambda: rules.gm,
    "minmax": lambda: rules.minmax,
    "low": lambda k=3.0, strict=False: rules.low(k, strict=strict),
}
"""The designs that can be planned in parts, without budgets, which parts cannot respect together."""
COVERAGE = 3
"""The default number of representatives of a part for each topic."""


@dataclass(frozen=True, eq=False)
class PlanInParts:
    """A plan that was made in parts, and how many more links that takes in a sample."""

    plan: Plan
    loss: Loss


def check_parts(
    algorithm: str, given: Mapping[str, Parameter], parts: int, coverage: int | None = None
) -> Rule:
    """Return the rule of a design, or refuse a design that cannot be planned in parts.

    Raises
    ------
    InputError
        If the design or one of its parameters does not work in parts, or a number is below 1.
    """
    for name, value in (("parts", parts), ("coverage", coverage)):
        if value is not None and value < 1:
            raise InputError(f"{name} is {value}: give at least 1")
    barred = [algorithm] if algorithm not in RULES else sorted(given.keys() - {"k", "strict"})
    if barred:
        raise InputError(
            f"{' and '.join(barred)} cannot be planned in parts: use gm, minmax or low without budgets and "
            "rounds, or leave --parts out"
        )
    return RULES[algorithm](**given)


def plan_in_parts(
    interest: Interest,
    algorithm: str,
    start: Callable[[], SparkSession],
    *,
    parts: int,
    coverage: int | None = None,
    parameters: Mapping[str, Parameter] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> PlanInParts:
    """Plan in parts on a cluster, and a sample of the nodes both ways to measure the loss.

    Parameters
    ----------
    interest
        Who subscribes to what.
    algorithm
        `gm`, `minmax` or `low`.
    start
        Returns the Spark session; called after all checks.
    parts
        The number of parts.
    coverage
        The number of representatives of each part for each of its topics; 3 by default.
    parameters
        The parameters of the design, by name; None means the default.
    seed
        The seed of the random assignment of nodes to parts.

    Raises
    ------
    InputError
        If the design cannot be planned in parts.
    ClusterError
        If Spark fails.
    """
    given = {name: value for name, value in (parameters or {}).items() if value is not None}
    rule = check_parts(algorithm, given, parts, coverage)
    # Executors that share the cache of the driver would otherwise all compile the same kernels.
    divide(Interest.from_dict({"a": {"t"}, "b": {"t"}}), rule, parts=1)
    division = {"parts": parts, "coverage": COVERAGE if coverage is None else coverage}
    spark, began = start(), working_seconds()
    with spark_errors():
        overlay = divide(interest, rule, seed=seed, solver=partial(solve_on, spark, progress), **division)
    plan = Plan(overlay, algorithm, {**given, **division}, seed, working_seconds() - began)
    return PlanInParts(plan, loss(interest, rule, seed=seed, **division))


SENT = "part int, sizes binary, topics binary"
PLANNED = ", ".join(["part int", *(f"{name} binary" for name in Part._fields)])


def solve_on(
    spark: SparkSession | None,
    progress: Progress | None,
    interests: list[Interest],
    rule: Rule,
    coverage: int,
) -> Iterable[Part]:
    """Plan parts on a cluster, each in its own task."""
    sent = [
        make_batch(SENT, part=[part], sizes=[np.diff(one.node_ptr).astype("<i4")], topics=[one.node_topics])
        for part, one in enumerate(interests)
    ]
    plan = partial(_plan_part, interests[0].num_topics, rule, coverage)
    planned = send(spark, sent, SENT).exchange(len(interests), "part").map(plan, PLANNED)
    counted = None if progress is None else lambda _, share, phase: progress(0, share, phase)
    with report_stages(spark, f"planning {len(interests)} parts", counted):
        rows = planned.collect()
    for row in sorted(rows, key=lambda row: int(row.part)):
        yield Part(*(np.frombuffer(row[name], np.int32) for name in Part._fields))


def _plan_part(num_topics: int, rule: Rule, coverage: int, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Plan the given parts, on an executor."""
    for batch in batches:
        for record in batch.to_pylist():
            sizes, topics = (np.frombuffer(record[name], np.int32) for name in ("sizes", "topics"))
            part = solve(_interest(sizes, topics, num_topics), rule, coverage)
            links = {name: [column] for name, column in part._asdict().items()}
            yield make_batch(PLANNED, part=[record["part"]], **links)


def _interest(sizes: NDArray[np.int32], topics: NDArray[np.int32], num_topics: int) -> Interest:
    """Return an interest without names."""
    node_ptr = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    return unchecked_interest(pa.nulls(len(sizes)), pa.nulls(num_topics), node_ptr, topics)
