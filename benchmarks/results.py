"""The measured figures as a page: one table for each question, floors beside ratios."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from benchmarks.cases import (
    DATA,
    DATA_GROWTH,
    DESIGNS,
    ENGINE,
    GROWTH,
    MOST_DATA_GROWTH,
    PAPER,
    PRODUCT,
    RULES,
    SPARK,
    THREADS,
    Case,
)

Records: TypeAlias = dict[tuple[str, str], dict[str, Any]]
"""What was measured, by case name and task; a failed task has only `error`."""


class Page:
    """The page, built table by table, with a count of the floors that hold."""

    def __init__(self, cases: Sequence[Case], records: Records, machine: str) -> None:
        self.cases, self.records = cases, records
        self.held = self.asked = 0
        self.tables: list[str] = []
        self._against_paper()
        self._against_product()
        self._memory()
        self._rules()
        self._designs()
        self._growth()
        self._threads()
        self._on_spark()
        self._verified_on_spark()
        self._data_on_spark()
        self._data_growth()
        failed = [f"- {name} {task}: {it['error']}" for (name, task), it in records.items() if "error" in it]
        if failed:
            self.tables.append("\n".join(["## Failed", "", *failed]))
        verdict = f"**{self.held} of {self.asked} floors hold.**"
        self.text = "\n\n".join(["# What the engine costs", machine, verdict, *self.tables]) + "\n"

    def _get(self, name: str, task: str) -> dict[str, Any] | None:
        record = self.records.get((name, task))
        return None if record is None or "error" in record else record

    def _floor(self, value: float, relation: str, floor: float | None) -> list[str]:
        """Return the floor and whether it holds, as two cells."""
        if floor is None:
            return ["–", ""]
        holds = value >= floor if relation == "≥" else value <= floor
        self.asked += 1
        self.held += holds
        return [f"{relation} {floor:g}", "yes" if holds else "**no**"]

    def _table(self, title: str, note: str, head: list[str], rows: list[list[str]]) -> None:
        if rows:
            lines = [f"## {title}", "", note, "", _row(head), _row(["---"] * len(head))]
            self.tables.append("\n".join([*lines, *map(_row, rows)]))

    def _against_paper(self) -> None:
        rows = []
        for case in self.cases:
            engine, paper = self._get(case.name, ENGINE), self._get(case.name, PAPER)
            if engine and paper:
                ratio = paper["seconds"] / engine["seconds"]
                cells = [case.name, _figure(engine["seconds"]), _figure(paper["seconds"]), _figure(ratio)]
                rows.append([*cells, *self._floor(ratio, "≥", case.paper_over_engine)])
        self._table(
            "Against the paper's own algorithm",
            "GM as podc07 prints it, all pairs materialised, compiled (`paper_gm.py`), over the engine's GM.",
            ["case", "engine s", "paper s", "paper / engine", "floor", "holds"],
            rows,
        )

    def _against_product(self) -> None:
        rows = []
        for case in self.cases:
            engine, product = self._get(case.name, ENGINE), self._get(case.name, PRODUCT)
            if engine and product:
                ratio = engine["seconds"] / product["seconds"]
                cells = [case.name, _figure(engine["seconds"]), _figure(product["seconds"]), _figure(ratio)]
                rows.append([*cells, *self._floor(ratio, "≤", case.engine_over_product)])
        self._table(
            "Against one sparse product",
            "The engine's GM over one `scipy.sparse` A·Aᵀ, which only counts the common topics of all pairs.",
            ["case", "engine s", "A·Aᵀ s", "engine / A·Aᵀ", "floor", "holds"],
            rows,
        )

    def _memory(self) -> None:
        rows = []
        for case in self.cases:
            engine, paper = self._get(case.name, ENGINE), self._get(case.name, PAPER)
            if engine and engine["peak_mb"] is not None:
                degrees = [f"{engine['average_degree']:.2f}", f"{engine['max_degree']}"]
                beside = f"{paper['peak_mb']:,.0f}" if paper and paper["peak_mb"] is not None else "–"
                cells = [case.name, f"{engine['edges']:,}", *degrees, _figure(engine["seconds"])]
                cells += [f"{engine['peak_mb']:,.1f}", beside]
                rows.append([*cells, *self._floor(engine["peak_mb"], "≤", case.memory_mb)])
        degree_names = ["average degree", "maximum degree"]
        self._table(
            "Memory and what comes out",
            "Peak of GM above the idle process with libraries, warm kernels and the interest loaded.",
            ["case", "edges", *degree_names, "engine s", "engine MB", "paper MB", "floor", "holds"],
            rows,
        )

    def _rules(self) -> None:
        rows = []
        for case in self.cases:
            record = self._get(case.name, RULES)
            if record:
                minmax, low = record["minmax"] / record["gm"], record["low"] / record["gm"]
                first = [_figure(minmax), *self._floor(minmax, "≤", case.minmax_over_gm)]
                second = [_figure(low), *self._floor(low, "≤", case.low_over_gm)]
                rows.append([case.name, _figure(record["gm"]), *first, *second])
        self._table(
            "The other rules",
            "Times of MinMax-ODA and Low-ODA(3) over GM's, in one process.",
            ["case", "GM s", "MinMax-ODA / GM", "floor", "holds", "Low-ODA / GM", "floor", "holds"],
            rows,
        )

    def _designs(self) -> None:
        rows = []
        for case in self.cases:
            record = self._get(case.name, DESIGNS) or {}
            for name, made in record.items():
                ratio = made["seconds"] / record["gm"]["seconds"]
                cells = [case.name, name, _figure(made["seconds"]), _figure(ratio)]
                cells += self._floor(ratio, "≤", None if name == "gm" else case.design_over_gm)
                rows.append([*cells, f"{made['edges']:,}", f"{made['max_degree']}"])
        self._table(
            "The papers' other designs",
            "Times over GM's, in one process, side by side. Budgets: as many links as GM for `randoma`, 8 a "
            "node for `spidercastm` and `randomm`.",
            ["case", "design", "seconds", "design / GM", "floor", "holds", "links", "maximum degree"],
            rows,
        )

    def _growth(self) -> None:
        rows = []
        nodes = {case.name: case.nodes for case in self.cases}
        for small, large in GROWTH:
            before, after = self._get(small, ENGINE), self._get(large, ENGINE)
            if before and after:
                times = after["seconds"] / before["seconds"]
                exponent = math.log(times) / math.log(nodes[large] / nodes[small])
                cells = [f"{small} → {large}", _figure(before["seconds"]), _figure(after["seconds"])]
                rows.append([*cells, f"{exponent:.2f}"])
        self._table(
            "Growth",
            "Ten times the nodes: GM's time grows as their number to the power of the exponent.",
            ["cases", "seconds before", "seconds after", "exponent"],
            rows,
        )

    def _threads(self) -> None:
        rows = []
        for case in self.cases:
            record = self._get(case.name, THREADS)
            if record:
                gain = record["one"] / record["two"]
                cells = [case.name, _figure(record["one"]), _figure(record["two"]), _figure(gain)]
                rows.append([*cells, *self._floor(gain, "≥", case.two_threads_gain)])
        self._table(
            "Two threads",
            "Wall time of GM on one thread and on two. The edges are identical, or the case fails.",
            ["case", "one s", "two s", "one / two", "floor", "holds"],
            rows,
        )

    def _on_spark(self) -> None:
        rows, gains = [], []
        for case in self.cases:
            record = self._get(case.name, SPARK)
            if record:
                here = min(record["one"], record["two"])
                ratio, serial = record["cluster"] / here, record["cluster"] - record.get("in_waves", 0.0)
                cells = [case.name, *map(_figure, (record["one"], record["two"], record["cluster"], ratio))]
                cells += self._floor(ratio, "≤", case.spark_over_engine)
                told = " + ".join(f"{wave:,}" for wave in record["waves"]) or "–"
                rows.append([*cells, told, _figure(serial), _figure(record["one"] / serial)])
            if record and "wave_1" in record:
                gain = record["wave_1"] / record["wave_2"]
                cells = [case.name, _figure(record["wave_1"]), _figure(record["wave_2"]), _figure(gain)]
                gains.append([*cells, *self._floor(gain, "≥", case.two_tasks_gain)])
        times = ["one s", "two s", "Spark s"]
        self._table(
            "GM on Spark",
            "Wall time of exact GM with its waves on Spark, `local[2]`, over the engine alone on one "
            "thread or two, whichever is faster. The session's start is not counted; edges are identical, or "
            "the case fails. Serial is what the driver does between waves: however many executors there are, "
            "GM is not faster than on one thread by more than one / serial.",
            ["case", *times, "Spark / engine", "floor", "holds", "rows in waves", "serial s", "one / serial"],
            rows,
        )
        self._table(
            "A wave on one core and on two",
            "Wall time of the first wave, over all rows, as one task of Spark and as two.",
            ["case", "one task s", "two tasks s", "one / two", "floor", "holds"],
            gains,
        )

    def _verified_on_spark(self) -> None:
        rows = []
        for case in self.cases:
            record = self._get(case.name, SPARK)
            if record:
                ratio = record["verify"] / record["kernel"]
                cells = [case.name, _figure(record["kernel"]), _figure(record["verify"]), _figure(ratio)]
                cells += self._floor(ratio, "≤", case.spark_over_kernel)
                memory = record["driver_mb"]
                rows.append([*cells, "–" if memory is None else f"{memory:,.0f}"])
        self._table(
            "Verification on Spark",
            "Wall time of verifying GM's plan for a stored dataset, on Spark, over that of the same kernel "
            "in one process. Last, the peak memory of the driver's Python in all of the case.",
            ["case", "kernel s", "Spark s", "Spark / kernel", "floor", "holds", "driver MB"],
            rows,
        )

    def _data_on_spark(self) -> None:
        rows = []
        for case in self.cases:
            record = self._get(case.name, DATA)
            if not record:
                continue
            cells = [case.name, f"{record['rows']:,}"]
            for name, floor in (("encode", case.encode_over_duckdb), ("profile", case.profile_over_duckdb)):
                ratio = record[name] / record[f"duckdb_{name}"]
                cells += [*map(_figure, (record[name], record[f"duckdb_{name}"], ratio))]
                cells += self._floor(ratio, "≤", floor)
            memory = [record["driver_mb"], record["java_mb"]]
            rows.append([*cells, *("–" if it is None else f"{it:,.0f}" for it in memory)])

        def told(what: str) -> list[str]:
            return [what, "DuckDB s", "ratio", "floor", "holds"]

        self._table(
            "Data on Spark",
            "Wall time of ingesting a Parquet file of names into a dataset, and of profiling it, on Spark, "
            "`local[2]`, over that of DuckDB on two threads for the same work; the ids are identical, or the "
            "case fails. Last, the peak memory of the driver's Python and of Spark's Java.",
            ["case", "rows", *told("ingest s"), *told("profile s"), "driver MB", "Java MB"],
            rows,
        )

    def _data_growth(self) -> None:
        small, large = (self._get(name, DATA) for name in DATA_GROWTH)
        if not small or not large:
            return
        ratio = large["cpu"] / small["cpu"]
        cells = [
            f"{small['rows']:,}",
            f"{large['rows']:,}",
            *map(_figure, (small["cpu"], large["cpu"], ratio)),
        ]
        self._table(
            "Five times the data",
            "CPU time of Spark's processes for ingesting five times the rows.",
            ["rows", "rows", "CPU s", "CPU s", "ratio", "floor", "holds"],
            [[*cells, *self._floor(ratio, "≤", MOST_DATA_GROWTH)]],
        )


def _figure(value: float) -> str:
    """Three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
