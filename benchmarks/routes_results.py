"""What was measured of trees, as a table of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.cases import ROUTES
from benchmarks.spelling import figure

if TYPE_CHECKING:
    from benchmarks.results import Page


def add_routes_table(page: Page) -> None:
    """Add the table on trees."""
    rows = []
    for case in page.cases:
        record = page.get(case.name, ROUTES)
        if record:
            hops, load = record["hops"], record["load"]
            plain = None if "plain" not in record else record["plain"] / hops["seconds"]
            share = load["max_link_load"] / hops["max_link_load"]
            cells = [
                case.name,
                f"{record['subscriptions']:,}",
                figure(hops["seconds"]),
                figure(load["seconds"]),
            ]
            cells += [
                "–" if plain is None else figure(plain),
                *page.floor(plain or 0.0, "≥", case.plain_over_routes),
            ]
            cells += [f"{share:.2f}", *page.floor(share, "≤", case.load_over_hops)]
            rows.append([*cells, f"{hops['mean_hops']:.2f} → {load['mean_hops']:.2f}"])
    page.table(
        "Trees for all topics",
        "A tree for each topic on Low-ODA(3)'s overlay. Plain: all distances by scipy, then a search "
        "(`plain_routes.py`), which finds trees as deep. Load: what the busiest link carries with `load` "
        "over that with `hops`, at Zipf rates; and what that does to the mean hops.",
        ["case", "subscriptions", "hops s", "load s", "plain / hops", "floor", "holds", "busiest link",
         "floor", "holds", "mean hops"],
        rows,
    )  # fmt: skip
