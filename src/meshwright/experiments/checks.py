"""Checks: each claim of a paper compared with our results, with a verdict and a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from meshwright.experiments.results import Spread

Verdict: TypeAlias = Literal["holds", "partly", "no"]
VERDICTS: tuple[Verdict, ...] = ("holds", "partly", "no")
NAMED = 3
"""How many failing comparisons a reason names."""


@dataclass(frozen=True)
class Check:
    """One claim of a paper, and what we found."""

    id: str
    """Paper, figure and name: `podc07/fig2/falls-with-nodes`."""
    paper: str
    figure: str
    claim: str
    paper_value: str
    ours: str
    """Our value, with its range over seeds and cases."""
    verdict: Verdict
    reason: str = ""
    """Why it does not hold, or not everywhere; empty if it holds."""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"{self.id}: no verdict {self.verdict!r}")
        if (self.verdict == "holds") != (not self.reason):
            raise ValueError(f"{self.id}: a reason is given exactly if the claim does not hold")


def verdict_of(held: Mapping[str, bool]) -> Verdict:
    """Return `holds` if every comparison holds, `partly` if at least half of them do, `no` otherwise.

    >>> verdict_of({"a": True}), verdict_of({"a": True, "b": False}), verdict_of({"a": False})
    ('holds', 'partly', 'no')
    """
    if not held:
        raise ValueError("a claim without a comparison has no verdict")
    true = sum(held.values())
    return "holds" if true == len(held) else "partly" if 2 * true >= len(held) else "no"


@dataclass
class Claims:
    """Collects the checks of a figure."""

    paper: str
    figure: str
    checks: list[Check] = field(default_factory=list)

    def check(
        self, name: str, claim: str, *, paper: str, ours: object, held: Mapping[str, bool], reason: str = ""
    ) -> None:
        """Add a check.

        Parameters
        ----------
        name
            The last part of its id.
        claim
            What the paper claims, in one sentence without a full stop.
        paper
            The paper's value.
        ours
            Our value; a `Spread` shows its range.
        held
            The comparisons by name, and whether each holds.
        reason
            Why it does not hold: printed only in that case, after the comparisons that fail.
        """
        verdict = verdict_of(held)
        failed = [label for label, true in held.items() if not true]
        why = "" if verdict == "holds" else f"{_name_failures(failed, len(held))} {reason}".strip()
        identity = f"{self.paper}/{self.figure}/{name}"
        self.checks.append(Check(identity, self.paper, self.figure, claim, paper, str(ours), verdict, why))


def _name_failures(failed: Sequence[str], compared: int) -> str:
    """Say which comparisons fail.

    >>> _name_failures(["a", "b"], 5)
    'Fails in 2 of 5 comparisons: a; b.'
    >>> _name_failures(["ratio 2.5"], 1)
    'Fails: ratio 2.5.'
    """
    more = f" and {len(failed) - NAMED} more" if len(failed) > NAMED else ""
    count = f" in {len(failed)} of {compared} comparisons" if compared > 1 else ""
    return f"Fails{count}: {'; '.join(failed[:NAMED])}{more}."


def falls(curve: Mapping[Any, Sequence[float]], *, label: str = "", slack: float = 0.0) -> dict[str, bool]:
    """Compare each point of a curve with the one before: its mean must be lower, but for some `slack`.

    >>> falls({1: [5.0], 2: [4.0], 3: [4.5]})
    {'from 1 to 2': True, 'from 2 to 3': False}
    """
    return _steps(curve, label, lambda before, after: after < before * (1 + slack))


def rises(curve: Mapping[Any, Sequence[float]], *, label: str = "", slack: float = 0.0) -> dict[str, bool]:
    """Compare each point of a curve with the one before: its mean must be higher, but for some `slack`."""
    return _steps(curve, label, lambda before, after: after > before * (1 - slack))


def _steps(curve: Mapping[Any, Sequence[float]], label: str, fits: Any) -> dict[str, bool]:
    means = {x: Spread.of(values).mean for x, values in curve.items()}
    points = list(means)
    prefix = f"{label}, " if label else ""
    return {
        f"{prefix}from {one} to {two}": bool(fits(means[one], means[two])) for one, two in pairwise(points)
    }


def below(
    lower: Mapping[Any, Sequence[float]],
    upper: Mapping[Any, Sequence[float]],
    *,
    label: str = "",
    slack: float = 0.0,
) -> dict[str, bool]:
    """Compare two curves point by point: the mean of `lower` must be below that of `upper`.

    >>> below({1: [2.0], 2: [3.0]}, {1: [2.5], 2: [2.5]}, label="GM")
    {'GM at 1': True, 'GM at 2': False}
    """
    prefix = f"{label} " if label else ""
    return {
        f"{prefix}at {x}": Spread.of(lower[x]).mean < Spread.of(upper[x]).mean * (1 + slack)
        for x in lower
        if x in upper
    }


def near(
    value: float, target: float, *, tolerance: float = 0.1, loose: float = 0.25, label: str = "value"
) -> dict[str, bool]:
    """Compare a number with the paper's: it holds within a relative tolerance, and partly within a loose one.

    >>> verdict_of(near(2.8, 3.0)), verdict_of(near(2.5, 3.0)), verdict_of(near(2.0, 3.0))
    ('holds', 'partly', 'no')
    """
    off = abs(value - target) / abs(target)
    return _two_limits(f"{label} {value:.4g}", off, tolerance, max(loose, tolerance))


def at_most(value: float, limit: float, *, loose: float = 0.1, label: str = "value") -> dict[str, bool]:
    """Compare a number with the paper's upper limit: partly if it is above it by a small share.

    >>> verdict_of(at_most(1.7, 1.8)), verdict_of(at_most(1.89, 1.8)), verdict_of(at_most(2.2, 1.8))
    ('holds', 'partly', 'no')
    """
    return _two_limits(f"{label} {value:.4g}", (value - limit) / abs(limit), 0.0, loose)


def at_least(value: float, limit: float, *, loose: float = 0.1, label: str = "value") -> dict[str, bool]:
    """Compare a number with the paper's lower limit: partly if it is below it by a small share.

    >>> at_least(0.95, 1.0)
    {'value 0.95 is off by 5%': False, 'value 0.95 is off by at most 10%': True}
    """
    return _two_limits(f"{label} {value:.4g}", (limit - value) / abs(limit), 0.0, loose)


def _two_limits(label: str, off: float, tight: float, loose: float) -> dict[str, bool]:
    return {
        f"{label} is off by {off:.0%}": off <= tight,
        f"{label} is off by at most {loose:.0%}": off <= loose,
    }


def describe_change(curve: Mapping[Any, Sequence[float]]) -> str:
    """Spell the first and the last point of a curve.

    >>> describe_change({100: [5.0, 6.0], 200: [4.0]})
    '5.5 (5 to 6) at 100, 4 at 200'
    """
    points = list(curve)
    return ", ".join(f"{Spread.of(curve[x])} at {x}" for x in dict.fromkeys((points[0], points[-1])))
