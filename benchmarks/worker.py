"""Run one task of one case: `python -m benchmarks.worker CASE TASK` prints the record as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from benchmarks import (
    churn,
    content,
    designs,
    engine,
    filters,
    routes,
    spark_data,
    spark_limits,
    spark_verify,
    startup,
)
from benchmarks.cases_and_floors import FULL, QUICK, Case

BENCHMARKS = engine, designs, churn, routes, filters, spark_verify, spark_data, spark_limits, content, startup
"""Modules with `TASKS`, by name, and `add_tables`, in the order of the page."""
TASKS: dict[str, Callable[[Case], dict[str, Any]]] = {
    task: measure for benchmark in BENCHMARKS for task, measure in benchmark.TASKS.items()
}

if __name__ == "__main__":
    _case = next(case for case in (*QUICK, *FULL) if case.name == sys.argv[1])
    print(json.dumps(TASKS[sys.argv[2]](_case)))
