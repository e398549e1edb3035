"""The tables on Spark: planning, verification and data, beside the same work without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.cases import DATA, DATA_GROWTH, MOST_DATA_GROWTH, SPARK
from benchmarks.spelling import figure

if TYPE_CHECKING:
    from benchmarks.results import Page


def add_spark_tables(page: Page) -> None:
    """Add all tables on Spark."""
    _on_spark(page)
    _verified_on_spark(page)
    _data_on_spark(page)
    _data_growth(page)


def _on_spark(page: Page) -> None:
    """Beside the engine alone: GM with its waves on Spark, and a wave on one core and on two."""
    rows, gains = [], []
    for case in page.cases:
        record = page.get(case.name, SPARK)
        if record:
            here = min(record["one"], record["two"])
            ratio, serial = record["cluster"] / here, record["cluster"] - record.get("in_waves", 0.0)
            cells = [case.name, *map(figure, (record["one"], record["two"], record["cluster"], ratio))]
            cells += page.floor(ratio, "≤", case.spark_over_engine)
            shown = " + ".join(f"{wave:,}" for wave in record["waves"]) or "–"
            rows.append([*cells, shown, figure(serial), figure(record["one"] / serial)])
        if record and "wave_1" in record:
            gain = record["wave_1"] / record["wave_2"]
            cells = [case.name, figure(record["wave_1"]), figure(record["wave_2"]), figure(gain)]
            gains.append([*cells, *page.floor(gain, "≥", case.two_tasks_gain)])
    times = ["one s", "two s", "Spark s"]
    page.table(
        "GM on Spark",
        "Wall time of exact GM with its waves on Spark, `local[2]`, over the engine alone on one "
        "thread or two, whichever is faster. The session's start is not counted; edges are identical, or "
        "the case fails. Serial is what the driver does between waves: however many executors there are, "
        "GM is not faster than on one thread by more than one / serial.",
        ["case", *times, "Spark / engine", "floor", "holds", "rows in waves", "serial s", "one / serial"],
        rows,
    )
    page.table(
        "A wave on one core and on two",
        "Wall time of the first wave, over all rows, as one task of Spark and as two.",
        ["case", "one task s", "two tasks s", "one / two", "floor", "holds"],
        gains,
    )


def _verified_on_spark(page: Page) -> None:
    """Beside the same kernel alone: verification."""
    rows = []
    for case in page.cases:
        record = page.get(case.name, SPARK)
        if record:
            ratio = record["verify"] / record["kernel"]
            cells = [case.name, figure(record["kernel"]), figure(record["verify"]), figure(ratio)]
            cells += page.floor(ratio, "≤", case.spark_over_kernel)
            memory = record["driver_mb"]
            rows.append([*cells, "–" if memory is None else f"{memory:,.0f}"])
    page.table(
        "Verification on Spark",
        "Wall time of verifying GM's plan for a stored dataset, on Spark, over that of the same kernel "
        "in one process. Last, the peak memory of the driver's Python in all of the case.",
        ["case", "kernel s", "Spark s", "Spark / kernel", "floor", "holds", "driver MB"],
        rows,
    )


def _data_on_spark(page: Page) -> None:
    """Beside DuckDB: ingest and profile."""
    rows = []
    for case in page.cases:
        record = page.get(case.name, DATA)
        if not record:
            continue
        cells = [case.name, f"{record['rows']:,}"]
        for name, floor in (("encode", case.encode_over_duckdb), ("profile", case.profile_over_duckdb)):
            ratio = record[name] / record[f"duckdb_{name}"]
            cells += [*map(figure, (record[name], record[f"duckdb_{name}"], ratio))]
            cells += page.floor(ratio, "≤", floor)
        memory = [record["driver_mb"], record["java_mb"]]
        rows.append([*cells, *("–" if it is None else f"{it:,.0f}" for it in memory)])

    def shown(what: str) -> list[str]:
        return [what, "DuckDB s", "ratio", "floor", "holds"]

    page.table(
        "Data on Spark",
        "Wall time of ingesting a Parquet file of names into a dataset, and of profiling it, on Spark, "
        "`local[2]`, over that of DuckDB on two threads for the same work; ids and figures are identical, "
        "or the case fails. Last, the peak memory of the driver's Python and of Spark's Java.",
        ["case", "rows", *shown("ingest s"), *shown("profile s"), "driver MB", "Java MB"],
        rows,
    )


def _data_growth(page: Page) -> None:
    """How CPU time grows with the rows."""
    small, large = (page.get(name, DATA) for name in DATA_GROWTH)
    if not small or not large:
        return
    ratio = large["cpu"] / small["cpu"]
    cells = [
        f"{small['rows']:,}",
        f"{large['rows']:,}",
        *map(figure, (small["cpu"], large["cpu"], ratio)),
    ]
    page.table(
        "Five times the data",
        "CPU time of Spark's processes for ingesting five times the rows.",
        ["rows", "rows", "CPU s", "CPU s", "ratio", "floor", "holds"],
        [[*cells, *page.floor(ratio, "≤", MOST_DATA_GROWTH)]],
    )
