"""Planning in parts on a cluster: each part is a task of its own, and the driver joins them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from meshwright.designs.plan import Parameter, Plan
from meshwright.errors import InputError
from meshwright.greedy import rules
from meshwright.interest import Interest, unchecked_interest
from meshwright.jit.announce import working_seconds
from meshwright.pipeline.dataflow import Batches, make_batch, send
from meshwright.pipeline.plans.divide import Loss, Part, divide, loss, solve
from meshwright.pipeline.session.jobs import report_stages, spark_errors

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from meshwright.greedy.rules import Rule
    from meshwright.progress import Progress

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
