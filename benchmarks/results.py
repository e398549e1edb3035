"""The measured figures as a page: one table for each question, floors beside ratios."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from benchmarks.cases import BEST, DESIGNS, ENGINE, GROWTH, PAPER, PRODUCT, RULES, THREADS, Case
from benchmarks.content_results import add_content_tables
from benchmarks.live_results import add_live_tables
from benchmarks.making_results import add_making_tables
from benchmarks.routes_results import add_routes_table
from benchmarks.spark_results import add_spark_tables
from benchmarks.spelling import figure, row

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
        self._best()
        add_making_tables(self)
        self._growth()
        self._threads()
        add_live_tables(self)
        add_routes_table(self)
        add_spark_tables(self)
        add_content_tables(self)
        failed = [f"- {name} {task}: {it['error']}" for (name, task), it in records.items() if "error" in it]
        if failed:
            self.tables.append("\n".join(["## Failed", "", *failed]))
        verdict = f"**{self.held} of {self.asked} floors hold.**"
        self.text = "\n\n".join(["# What it costs, and what it gains", machine, verdict, *self.tables]) + "\n"

    def get(self, name: str, task: str) -> dict[str, Any] | None:
        """Return what was measured, if anything was."""
        record = self.records.get((name, task))
        return None if record is None or "error" in record else record

    def floor(self, value: float, relation: str, floor: float | None) -> list[str]:
        """Return the floor and whether it holds, as two cells."""
        if floor is None:
            return ["–", ""]
        holds = value >= floor if relation == "≥" else value <= floor
        self.asked += 1
        self.held += holds
        return [f"{relation} {floor:g}", "yes" if holds else "**no**"]

    def table(self, title: str, note: str, head: list[str], rows: list[list[str]]) -> None:
        """Add a table, if it has rows."""
        if rows:
            lines = [f"## {title}", "", note, "", row(head), row(["---"] * len(head))]
            self.tables.append("\n".join([*lines, *map(row, rows)]))

    def _against_paper(self) -> None:
        rows = []
        for case in self.cases:
            engine, paper = self.get(case.name, ENGINE), self.get(case.name, PAPER)
            if engine and paper:
                ratio = paper["seconds"] / engine["seconds"]
                cells = [case.name, figure(engine["seconds"]), figure(paper["seconds"]), figure(ratio)]
                rows.append([*cells, *self.floor(ratio, "≥", case.paper_over_engine)])
        self.table(
            "Against the paper's own algorithm",
            "GM as podc07 prints it, all pairs materialised, compiled (`paper_gm.py`), over the engine's GM.",
            ["case", "engine s", "paper s", "paper / engine", "floor", "holds"],
            rows,
        )

    def _against_product(self) -> None:
        rows = []
        for case in self.cases:
            engine, product = self.get(case.name, ENGINE), self.get(case.name, PRODUCT)
            if engine and product:
                ratio = engine["seconds"] / product["seconds"]
                cells = [case.name, figure(engine["seconds"]), figure(product["seconds"]), figure(ratio)]
                rows.append([*cells, *self.floor(ratio, "≤", case.engine_over_product)])
        self.table(
            "Against one sparse product",
            "The engine's GM over one `scipy.sparse` A·Aᵀ, which only counts the common topics of all pairs.",
            ["case", "engine s", "A·Aᵀ s", "engine / A·Aᵀ", "floor", "holds"],
            rows,
        )

    def _memory(self) -> None:
        rows = []
        for case in self.cases:
            engine, paper = self.get(case.name, ENGINE), self.get(case.name, PAPER)
            if engine and engine["peak_mb"] is not None:
                degrees = [f"{engine['average_degree']:.2f}", f"{engine['max_degree']}"]
                beside = f"{paper['peak_mb']:,.0f}" if paper and paper["peak_mb"] is not None else "–"
                cells = [case.name, f"{engine['edges']:,}", *degrees, figure(engine["seconds"])]
                cells += [f"{engine['peak_mb']:,.1f}", beside]
                rows.append([*cells, *self.floor(engine["peak_mb"], "≤", case.memory_mb)])
        degree_names = ["average degree", "maximum degree"]
        self.table(
            "Memory and what comes out",
            "Peak of GM above the idle process with libraries, warm kernels and the interest loaded.",
            ["case", "edges", *degree_names, "engine s", "engine MB", "paper MB", "floor", "holds"],
            rows,
        )

    def _rules(self) -> None:
        rows = []
        for case in self.cases:
            record = self.get(case.name, RULES)
            if record:
                minmax, low = record["minmax"] / record["gm"], record["low"] / record["gm"]
                first = [figure(minmax), *self.floor(minmax, "≤", case.minmax_over_gm)]
                second = [figure(low), *self.floor(low, "≤", case.low_over_gm)]
                rows.append([case.name, figure(record["gm"]), *first, *second])
        self.table(
            "The other rules",
            "Times of MinMax-ODA and Low-ODA(3) over GM's, in one process.",
            ["case", "GM s", "MinMax-ODA / GM", "floor", "holds", "Low-ODA / GM", "floor", "holds"],
            rows,
        )

    def _designs(self) -> None:
        rows = []
        for case in self.cases:
            record = self.get(case.name, DESIGNS) or {}
            for name, made in record.items():
                ratio = made["seconds"] / record["gm"]["seconds"]
                cells = [case.name, name, figure(made["seconds"]), figure(ratio)]
                cells += self.floor(ratio, "≤", None if name == "gm" else case.design_over_gm)
                rows.append([*cells, f"{made['edges']:,}", f"{made['max_degree']}"])
        self.table(
            "The papers' other designs",
            "Times over GM's, in one process, side by side. Budgets: as many links as GM for `randoma`, 8 a "
            "node for `spidercastm` and `randomm`.",
            ["case", "design", "seconds", "design / GM", "floor", "holds", "links", "maximum degree"],
            rows,
        )

    def _best(self) -> None:
        rows = []
        for case in self.cases:
            record = self.get(case.name, BEST) or {}
            for (objective, seeds), floor in zip(record.items(), case.best_saves, strict=False):
                saved, gap = min(row["saved"] for row in seeds), max(row["gap"] for row in seeds)
                middle = sorted(seeds, key=lambda row: row["saved"])[len(seeds) // 2]
                cells = [case.name, objective, f"{case.best_seconds:g}"]
                cells += [f"{middle['greedy_edges']:,} / {middle['greedy_degree']}"]
                cells += [f"{middle['edges']:,} / {middle['max_degree']}", f"{saved:.1%}"]
                cells += self.floor(saved, "≥", floor)
                cells += [f"{gap:.1%}", *self.floor(gap, "≤", case.best_gap)]
                rows.append(cells)
        self.table(
            "Best against the greedy designs",
            "Links and highest degree of GM (edges), MinMax-ODA (degree) or Low-ODA(3) (balanced), and of "
            "`best` after some seconds: the middle one of three seeds, or one where there is no floor. What "
            "it saves of the links at least, and by how much it is above the fewest possible at most, as "
            "proven: the worst of the three.",
            ["case", "objective", "seconds", "greedy: links / degree", "best: links / degree",
             "saved", "floor", "holds", "proven gap", "floor", "holds"],
            rows,
        )  # fmt: skip

    def _growth(self) -> None:
        rows = []
        nodes = {case.name: case.nodes for case in self.cases}
        for small, large in GROWTH:
            before, after = self.get(small, ENGINE), self.get(large, ENGINE)
            if before and after:
                times = after["seconds"] / before["seconds"]
                exponent = math.log(times) / math.log(nodes[large] / nodes[small])
                cells = [f"{small} → {large}", figure(before["seconds"]), figure(after["seconds"])]
                rows.append([*cells, f"{exponent:.2f}"])
        self.table(
            "Growth",
            "Ten times the nodes: GM's time grows as their number to the power of the exponent.",
            ["cases", "seconds before", "seconds after", "exponent"],
            rows,
        )

    def _threads(self) -> None:
        rows = []
        for case in self.cases:
            record = self.get(case.name, THREADS)
            if record:
                gain = record["one"] / record["two"]
                cells = [case.name, figure(record["one"]), figure(record["two"]), figure(gain)]
                rows.append([*cells, *self.floor(gain, "≥", case.two_threads_gain)])
        self.table(
            "Two threads",
            "Wall time of GM on one thread and on two. The edges are identical, or the case fails.",
            ["case", "one s", "two s", "one / two", "floor", "holds"],
            rows,
        )
