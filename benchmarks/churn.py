"""Live overlays: the time of repairs next to a rebuild, and degrees after many rounds of churn."""

from __future__ import annotations

import gc
import time
from statistics import median
from typing import Any

from benchmarks.cases_and_floors import CHURN, DAMAGE, TIDY, Case
from benchmarks.page import FLOOR, Page, figure
from benchmarks.resources import cpu_seconds
from meshwright import churn
from meshwright.greedy import grow, rules
from meshwright.interest import Interest
from meshwright.jit.announce import working_seconds
from meshwright.overlay import Overlay

REPAIR_ROUNDS = 1000
WARM_ROUNDS = 20
REBUILDS = 3
MOST_MEMORY, MOST_GROWTH, MOST_AVERAGE, MOST_MAXIMUM = 3.0, 4.0, 1.03, 1.6
"""Floors that are the same for every case."""


def compare_repairs(case: Case) -> dict[str, Any]:
    """Measure 1000 rounds of shadow repair, and rebuilds of the same overlay before and after them.

    A repair counts everything: the call, its checks, names, search, greedy step, backups and bookkeeping.
    Both are CPU seconds of this process, by the same clock: of a repair the median, of a rebuild the best of
    three. The first rounds load or compile kernels and are not counted.
    """
    interest = case.workload()
    start = grow(interest, rules.low(3))
    live = churn.LiveOverlay(start)
    memory = live.nbytes / _plain_bytes(interest, start)
    rebuilds = [_rebuild_seconds(interest)]
    rounds = list(churn.random_churn(interest, REPAIR_ROUNDS, seed=1))
    churn.replay(live.copy(), rounds[:WARM_ROUNDS])
    repairs: list[churn.Repair] = []
    spent: dict[str, list[float]] = {}
    gc.collect()
    gc.disable()
    for events in rounds:
        began = time.process_time()
        repairs.append(churn.happen(live, events))
        spent.setdefault(repairs[-1].event, []).append(time.process_time() - began)
    gc.enable()
    rebuilds += [_rebuild_seconds(live.interest()) for _ in range(REBUILDS - 1)]
    figures = churn.Replay(live, repairs).figures
    return {
        "join": median(spent["join"]),
        "leave": median(spent["leave"]),
        "rebuild": min(rebuilds),
        "rounds": sum(map(sum, spent.values())),
        "join_edges": figures["mean_join_edges"],
        "leave_edges": figures["mean_leave_edges"],
        "max_degree": figures["max_degree"],
        "average_degree": figures["average_degree"],
        "rebuild_max_degree": figures["rebuild_max_degree"],
        "rebuild_average_degree": figures["rebuild_average_degree"],
        "memory": memory,
    }


def compare_tidy(case: Case) -> dict[str, Any]:
    """Measure degrees after all rounds with the policies shadow and tidy, next to a rebuild."""
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


def _rebuild_seconds(interest: Interest) -> float:
    """Return the CPU seconds of Low-ODA from scratch."""
    return cpu_seconds(lambda: grow(interest, rules.low(3)))[0]


def _plain_bytes(interest: Interest, overlay: Overlay) -> int:
    """Return the memory of an interest, indexed by node and by topic, and of a static overlay."""
    by_node = (interest.node_ptr, interest.node_topics)
    by_topic = (interest.topic_ptr, interest.topic_nodes, interest.topic_slots)
    links = (overlay.u, overlay.v, overlay.contribution)
    names = int(interest.node_names.nbytes + interest.topic_names.nbytes)
    return sum(array.nbytes for array in (*by_node, *by_topic, *links)) + names


TASKS = {CHURN: compare_repairs, TIDY: compare_tidy}


def add_tables(page: Page) -> None:
    """Add the tables on repair, on its growth, and on degrees after many rounds."""
    _repairs(page)
    _damage(page)
    _tidy(page)


def _repairs(page: Page) -> None:
    rows = []
    for case, record in page.measured(CHURN):
        cells = [case.name, figure(record["rebuild"])]
        for name, floor in (("join", case.join_percent), ("leave", case.leave_percent)):
            percent = 100 * record[name] / record["rebuild"]
            cells += [figure(1e6 * record[name]), figure(percent), *page.floor(percent, "≤", floor)]
        cells += [figure(record["rounds"]), f"{record['join_edges']:.2f}", f"{record['leave_edges']:.2f}"]
        cells += [f"{record['max_degree']} / {record['rebuild_max_degree']}", figure(record["memory"])]
        rows.append([*cells, *page.floor(record["memory"], "≤", MOST_MEMORY)])
    timed = ("µs", "% of a rebuild", *FLOOR)
    page.table(
        "Repair under churn",
        "Shadow repair, 1000 rounds: the median join and leave, everything included, next to Low-ODA from "
        "scratch in the same process, all in CPU seconds. Links are the mean number added and removed. "
        "Memory is the live overlay over a static interest and overlay.",
        ["case", "rebuild s", *(f"join {it}" for it in timed), *(f"leave {it}" for it in timed),
         "1000 rounds s", "links per join", "links per leave", "max. degree after / of a rebuild",
         "memory", *FLOOR],
        rows,
    )  # fmt: skip


def _damage(page: Page) -> None:
    small, large = (page.get(name, CHURN) for name in DAMAGE)
    rows = []
    if small and large:
        ratio = large["leave"] / small["leave"]
        cells = [" → ".join(DAMAGE), figure(1e6 * small["leave"]), figure(1e6 * large["leave"])]
        rows.append([*cells, figure(ratio), *page.floor(ratio, "≤", MOST_GROWTH)])
    page.table(
        "Repair time depends on the damage, not on the overlay",
        "The median leave with the same topics and sizes, and with ten times the nodes.",
        ["cases", "µs before", "µs after", "after / before", *FLOOR],
        rows,
    )


def _tidy(page: Page) -> None:
    rows = []
    for case, record in page.measured(TIDY):
        for policy, it in record.items():
            has_floor = policy == "tidy" and case.join_percent is not None
            cells = [case.name, policy, f"{case.rounds:,}", figure(1000 * it["seconds"])]
            for name, floor in (("average", MOST_AVERAGE), ("maximum", MOST_MAXIMUM)):
                cells += [f"{it[name]:.3f}", *page.floor(it[name], "≤", floor if has_floor else None)]
            rows.append([*cells, f"{it['tidied']:.2f}", f"{it['faults']}"])
    page.table(
        "Degrees after many rounds of churn",
        "Average and maximum degree over those of Low-ODA from scratch, links that tidying removes or "
        "moves per round, and faults that the final audit finds.",
        [
            "case",
            "policy",
            "rounds",
            "ms per round",
            "average",
            *FLOOR,
            "maximum",
            *FLOOR,
            "links moved",
            "faults",
        ],
        rows,
    )
