"""Claims, drawings and cells of the papers: on recorded results, they say what they said before."""

from __future__ import annotations

from functools import cache

import pytest

from experiments.recorded_results import FIGURES, cells_of, claims_of, drawing_of, grids_of, recorded_answers

recorded = cache(recorded_answers)


@pytest.mark.parametrize("name", FIGURES)
def test_claims(name: str) -> None:
    """Every comparison of every claim comes out as recorded: on what was measured, and where claims fail."""
    assert claims_of(name) == recorded()[name]["claims"]


@pytest.mark.parametrize("name", FIGURES)
def test_drawings(name: str) -> None:
    """A figure has the curves, the levels and the labels that it had."""
    assert drawing_of(name) == recorded()[name]["drawing"]


@pytest.mark.parametrize("name", FIGURES)
def test_cells(name: str) -> None:
    """Small cells measure what they measured; a figure whose cells do not has another version."""
    assert cells_of(name) == recorded()[name]["small"]
    assert grids_of(FIGURES[name][1]) == recorded()[name]["cells"]


def verdicts() -> dict[str, set[str]]:
    """Return the verdicts that each claim has in all tables."""
    return {
        f"{name}/{claim}": {answer[table].split()[0] for table in answer.keys() - {"ours", "paper"}}
        for name, answers in recorded().items()
        for claim, answer in answers["claims"].items()
        if claim != "error"
    }


def test_claims_can_fail_and_can_hold() -> None:
    """Most claims have several verdicts in the recorded tables: a check that cannot fail says nothing."""
    found = verdicts()
    alike = [claim for claim, different in found.items() if len(different) == 1]
    assert len(found) >= 150
    assert len(alike) <= len(found) / 5, alike
