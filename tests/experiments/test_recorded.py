"""Claims, drawings and cells of the papers: on recorded results, they say what they said before."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from benchmarks.golden import Golden

from experiments.recorded_results import (
    FIGURES,
    cells_of,
    claims_of,
    drawing_of,
    grids_of,
    measured,
    run_small_cells,
)
from meshwright.experiments.papers import icdcs16

Require = Callable[..., None]


@pytest.mark.parametrize("name", FIGURES)
def test_claims(golden: Require, name: str) -> None:
    """Every comparison of every claim comes out as recorded: on what was measured, and where claims fail."""
    golden("papers", {f"{name}/claims": claims_of(name)}, f"{name}/claims")


@pytest.mark.parametrize("name", FIGURES)
def test_drawings(golden: Require, name: str) -> None:
    """A figure has the curves, the levels and the labels that it had."""
    golden("papers", {f"{name}/drawing": drawing_of(name)}, f"{name}/drawing")


@pytest.mark.parametrize("name", FIGURES)
def test_cells(golden: Require, name: str) -> None:
    """Small cells measure what they measured; a figure whose cells do not has another version."""
    golden("papers", {f"{name}/small": cells_of(name)}, f"{name}/small")
    golden("papers", {f"{name}/cells": grids_of(FIGURES[name][1])}, f"{name}/cells")


def test_only_answers_of_figures_are_recorded() -> None:
    """A figure that is gone leaves no answers behind."""
    parts = "cells", "small", "drawing", "claims"
    assert set(Golden("papers").answers) == {f"{name}/{part}" for name in FIGURES for part in parts}


ORDERED = (
    ("bound_degree", "average_degree"),
    ("average_degree_bound", "average_degree"),
    ("max_degree_bound", "max_degree"),
    ("bound", "best"),
    ("best", "gm"),
    ("bound", "best_links"),
    ("best_links", "gm_links"),
    ("bound", "gm"),
)


@pytest.mark.parametrize("name", FIGURES)
def test_what_is_ours_lies_in_between(name: str) -> None:
    """Our overlays are not below the bounds, and not above those of the paper that they start from."""
    for _, rows in run_small_cells(name):
        for row in rows:
            for low, high in ORDERED:
                assert low not in row or high not in row or row[low] <= row[high] + 1e-9
        support = {row["design"]: row["support"] for row in rows if {"design", "support"} <= row.keys()}
        if "bound" in support:
            assert (
                max(support[design] for design in ("gpm-useful", "gpm", "randomm")) <= support["bound"] + 1e-9
            )


@pytest.mark.parametrize("name", ["icdcs16/fig4", "icdcs16/fig5"])
def test_recorded_results_have_the_ratios_of_the_figure(name: str) -> None:
    """Small samples are measured at all budgets of a quick run, and these are among those of a full one."""
    small = measured(name).where(wanted=icdcs16.SMALL, design="gpm")
    assert small.values("percent") == list(icdcs16.PERCENTS[False])
    assert set(icdcs16.PERCENTS[False]) <= set(icdcs16.PERCENTS[True])
    assert list(icdcs16.PERCENTS[True]) == [5 * number for number in range(1, 21)]


def verdicts() -> dict[str, set[str]]:
    """Return the verdicts that each claim has in all tables."""
    return {
        f"{name}/{claim}": {answer[table].split()[0] for table in answer.keys() - {"ours", "paper"}}
        for name, answers in Golden("papers").answers.items()
        if name.endswith("/claims")
        for claim, answer in answers.items()
        if claim != "error"
    }


def test_claims_can_fail_and_can_hold() -> None:
    """Most claims have several verdicts in the recorded tables: a check that cannot fail says nothing."""
    found = verdicts()
    alike = [claim for claim, different in found.items() if len(different) == 1]
    assert len(found) >= 150
    assert len(alike) <= len(found) / 5, alike
