"""Live overlays: what repairs cost beside a rebuild, and where degrees are after much churn."""

from __future__ import annotations

import gc
from typing import Any

from benchmarks.cases import Case
from benchmarks.timing import cpu_seconds
from meshwright import churn
from meshwright.greedy import grow, rules
from meshwright.interest import Interest
from meshwright.jit.announce import working_seconds
from meshwright.overlay import Overlay

REPAIR_ROUNDS = 1000
REBUILDS = 3


def compare_repairs(case: Case) -> dict[str, Any]:
    """Measure shadow repair over 1000 rounds, with a rebuild of the same overlay before, amid and after.

    Everything counts: the call, its checks, names, search, greedy step, backups and bookkeeping. Repairs are
    timed by the wall without compilation, a rebuild by its CPU time, the best of three.
    """
    interest = case.workload()
    start = grow(interest, rules.low(3))
    live = churn.LiveOverlay(start)
    plain = _plain_bytes(interest, start)
    memory = live.nbytes / plain
    rebuilds = [_rebuild(interest)]
    rounds = list(churn.random_churn(interest, REPAIR_ROUNDS, seed=1))
    gc.collect()
    gc.disable()
    began = working_seconds()
    run = churn.replay(live, rounds)
    took = working_seconds() - began
    gc.enable()
    rebuilds += [_rebuild(live.interest()) for _ in range(REBUILDS - 1)]
    figures = run.figures
    return {
        "join": figures["median_join_seconds"],
        "leave": figures["median_leave_seconds"],
        "rebuild": min(rebuilds),
        "rounds": took,
        "join_edges": figures["mean_join_edges"],
        "leave_edges": figures["mean_leave_edges"],
        "max_degree": figures["max_degree"],
        "average_degree": figures["average_degree"],
        "rebuild_max_degree": figures["rebuild_max_degree"],
        "rebuild_average_degree": figures["rebuild_average_degree"],
        "memory": memory,
    }


def compare_tidy(case: Case) -> dict[str, Any]:
    """Measure degrees after all rounds under shadow and tidy, beside those of a rebuild."""
    interest = case.workload()
    start = grow(interest, rules.low(3))
    record: dict[str, Any] = {}
    for policy in ("shadow", "tidy"):
        live = churn.LiveOverlay(start, policy)
        began = working_seconds()
        run = churn.replay(live, churn.random_churn(interest, case.rounds, seed=1))
        figures = run.figures
        record[policy] = {
            "seconds": (working_seconds() - began) / max(1, case.rounds),
            "average": live.average_degree / figures["rebuild_average_degree"],  # type: ignore[operator]
            "maximum": live.max_degree / figures["rebuild_max_degree"],  # type: ignore[operator]
            "tidied": figures["mean_tidied_links"],
            "faults": len(live.audit()),
        }
    return record


def _rebuild(interest: Interest) -> float:
    """Return the CPU seconds of Low-ODA from scratch: a busy machine must not flatter repairs."""
    return cpu_seconds(lambda: grow(interest, rules.low(3)))[0]


def _plain_bytes(interest: Interest, overlay: Overlay) -> int:
    """Return the memory of an interest, both ways, and an overlay as they are kept plainly."""
    relation = (interest.node_ptr, interest.node_topics)
    by_topic = (interest.topic_ptr, interest.topic_nodes, interest.topic_slots)
    links = (overlay.u, overlay.v, overlay.contribution)
    names = int(interest.node_names.nbytes + interest.topic_names.nbytes)
    return sum(array.nbytes for array in (*relation, *by_topic, *links)) + names
