"""What was measured of the content-based half, as tables of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.cases import CONTENT, CONTENT_EVALUATION, CONTENT_MEMORY
from benchmarks.spelling import figure

if TYPE_CHECKING:
    from benchmarks.cases import Case
    from benchmarks.results import Page

TIMES = {"cost": 20.0, "packing": 10.0, "clustering": 10.0, "steiner": 10.0}
"""How many times the numpy reading's time ours is at least."""
SECONDS = {"packing": 2.0, "clustering": 2.0, "steiner": 2.0, "steiner-literal": 2.0, "descent": 5.0}
"""How long each takes at most."""
BELOW_MIXING, MEMORY_MB = 0.02, 2048.0
NAMES = ("packing", "clustering", "steiner", "steiner-literal", "descent")


def add_content_tables(page: Page) -> None:
    """Add the tables on speed, on the paper's evaluation and on memory."""
    _speed(page)
    _evaluation(page)
    _memory(page)


def _speed(page: Page) -> None:
    rows, gains = [], []
    for case in page.cases:
        record = page.get(case.name, CONTENT)
        if not record:
            continue
        asked = case.content_floors
        for name in ("cost", *NAMES):
            ours, plain = record[name]["seconds"], record[name]["numpy"]
            cells = [case.name, name, figure(ours)]
            cells += page.floor(ours, "≤", SECONDS.get(name) if asked else None)
            cells += ["–", "–"] if plain is None else [figure(plain), figure(plain / ours)]
            rows.append(
                [*cells, *page.floor(plain / ours if plain else 0.0, "≥", TIMES.get(name) if asked else None)]
            )
        least = BELOW_MIXING if asked and case.popularity == "plane" else None
        below = [one["below_mixing"] for one in record["networks"]]
        mean = sum(below) / len(below)
        cells = [str(len(below)), *(f"{part:.2%}" for part in (min(below), max(below), mean))]
        reach = "–" if least is None else str(sum(part >= least for part in below))
        gains.append([case.name, *cells, *page.floor(mean, "≥", least), reach])
    page.table(
        "Users on brokers: speed",
        "Content-based: so many users, channels, subscriptions a user and cost model, a broker for every 100 "
        "users. Least CPU seconds beside a plain vectorised numpy reading of the same algorithm "
        "(`content_numpy.py`); assignments and costs are the same, or the case fails. For descent it "
        "is the slowest of some networks.",
        ["case", "what", "seconds", "floor", "holds", "numpy s", "numpy / ours", "floor", "holds"],
        rows,
    )
    page.table(
        "Users on brokers: descent",
        "By which part of Steiner mixing's cost descent is below it, on several networks. The floor is that "
        "of the mean; the table also shows how many networks reach it by themselves.",
        ["case", "networks", "least", "most", "mean", "floor", "holds", "reach it"],
        gains,
    )


def _evaluation(page: Page) -> None:
    for part, first, title in (
        ("users", "users", "by number of users, a broker for every 100 (cbps, Fig. 9); means over networks"),
        ("ratios", "ratio", "by the ratio of mean access to mean core cost (cbps, Fig. 10)"),
    ):
        rows = [
            _row(case, it, first)
            for case in page.cases
            for it in (page.get(case.name, CONTENT_EVALUATION) or {}).get(part, [])
        ]
        page.table(
            f"Users on brokers: cost reduction by {first}",
            f"Cost of random assignment over that of each algorithm, {title}.",
            ["cost model", first, "length", "subscribers a channel", "packing's core share", *NAMES],
            rows,
        )


def _row(case: Case, it: dict[str, Any], first: str) -> list[str]:
    length = "one channel" if it["length"] is None else f"{it['length']:g}"
    shares = [f"{it['audience']:.0f}", f"{it['core_share']:.1%}"]
    return [case.popularity, f"{it[first]:,g}", length, *shares, *(f"{it[name]:.3f}" for name in NAMES)]


def _memory(page: Page) -> None:
    rows = []
    for case in page.cases:
        record = page.get(case.name, CONTENT_MEMORY)
        if record:
            peak = record["peak_mb"]
            cells = [case.name, "–" if peak is None else f"{peak:,.0f}"]
            cells += page.floor(peak or 0.0, "≤", MEMORY_MB if case.content_floors else None)
            rows.append([*cells, *(f"{figure(record[name]['seconds'])} s" for name in NAMES)])
    page.table(
        "Users on brokers: memory",
        "Highest memory of the whole process that makes the workload and runs every algorithm, and their "
        "wall times.",
        ["case", "MB", "floor", "holds", *NAMES],
        rows,
    )
