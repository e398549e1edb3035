"""The tables on workloads and on the price bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.cases import BOUND, WORKLOAD
from benchmarks.spelling import figure

if TYPE_CHECKING:
    from benchmarks.results import Page


def add_making_tables(page: Page) -> None:
    """Add both tables."""
    made = [(case.name, page.get(case.name, WORKLOAD)) for case in page.cases]
    page.table(
        "Workloads made up",
        "CPU seconds from nothing to an interest, the best of three.",
        ["case", "subscriptions", "seconds"],
        [[name, f"{it['subscriptions']:,}", figure(it["seconds"])] for name, it in made if it],
    )
    rows = []
    for case in page.cases:
        record = page.get(case.name, BOUND)
        if record:
            cells = [case.name, figure(record["gm"]), f"{record['edges']:,}"]
            for effort in ("first", "full"):
                it = record[effort]
                cells += [figure(it["seconds"]), figure(it["seconds"] / record["gm"]), f"{it['bound']:,}"]
            rows.append(cells)
    page.table(
        "The price bound",
        "CPU seconds of the first bound on links and of the full one (`plan --certify`) beside GM's, in one "
        "process, and how many links each proves to be needed.",
        ["case", "GM s", "GM links", "first s", "first / GM", "proves", "full s", "full / GM", "proves"],
        rows,
    )
