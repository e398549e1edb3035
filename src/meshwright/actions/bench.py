"""Bench: measure speed and memory on this machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from meshwright.errors import InputError

CHECKOUT = Path(__file__).resolve().parents[3]
"""The source checkout, which holds the benchmarks; the package does not."""


@dataclass(frozen=True)
class Measurements:
    """The measurements, how many floors of ratios hold, and the page."""

    machine: str
    results: list[dict[str, Any]]
    held: int
    asked: int
    page: str
    passed: bool
    """Whether every floor holds and every task ran."""

    def to_dict(self) -> dict[str, Any]:
        """Return all measurements."""
        return dict(vars(self))


def bench(*, quick: bool = False, only: Sequence[str] | None = None, out: Path | None = None) -> Measurements:
    """Measure, and write a page of results; `only` keeps cases with one of these texts in their name.

    Raises
    ------
    InputError
        If this is not a source checkout.
    """
    if not (CHECKOUT / "benchmarks" / "run.py").is_file():
        raise InputError(
            "the benchmarks are not part of the installed package: run make bench in a source checkout"
        )
    if str(CHECKOUT) not in sys.path:
        sys.path.insert(0, str(CHECKOUT))
    made = import_module("benchmarks.run").main(quick, only, out)
    return Measurements(**vars(made), passed=made.passed)
