"""Checks: each claim of a paper compared with our results, with a verdict and a reason."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from meshwright.experiments.results import Spread

Verdict: TypeAlias = Literal["holds", "partly", "no"]
VERDICTS: tuple[Verdict, ...] = ("holds", "partly", "no")
UNDECIDED = math.nan
"""The score of a comparison that the seeds do not decide: the mean says no, by less than its error."""
ERRORS = 2.0
"""A difference of means by fewer standard errors than this does not decide."""
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


def tally(checks: Sequence[Check]) -> dict[str, int]:
    """Return how many checks have each verdict."""
    return {verdict: sum(check.verdict == verdict for check in checks) for verdict in VERDICTS}


def verdict_of(held: Mapping[str, float]) -> Verdict:
    """Return `holds` if every comparison holds, `partly` if at least half of them do, `no` otherwise.

    A comparison is a boolean or a score: 1 if it holds, 0 if not, and 0.5 if it holds in part. Those
    that are `UNDECIDED` do not stop a claim from holding, as long as at least half of all comparisons hold.

    >>> verdict_of({"a": True}), verdict_of({"a": True, "b": False}), verdict_of({"a": False})
    ('holds', 'partly', 'no')
    >>> verdict_of({"a": True, "b": UNDECIDED}), verdict_of({"a": UNDECIDED})
    ('holds', 'partly')
    """
    if not held:
        raise ValueError("a claim without a comparison has no verdict")
    decided = [score for score in held.values() if not math.isnan(score)]
    score = sum(decided)
    if score == len(decided) and 2 * score >= len(held):
        return "holds"
    return "partly" if 2 * score >= len(decided) else "no"


@dataclass
class Claims:
    """Collects the checks of a figure."""

    paper: str
    figure: str
    checks: list[Check] = field(default_factory=list)

    def check(
        self, name: str, claim: str, *, paper: str, ours: object, held: Mapping[str, float], reason: str = ""
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
            The comparisons by name, and whether each holds: booleans, or scores as in `verdict_of`.
        reason
            Why it does not hold: printed only in that case, after the comparisons that fail.
        """
        verdict = verdict_of(held)
        failed = [label for label, score in held.items() if not score >= 1]
        why = "" if verdict == "holds" else f"{_name_failures(failed, len(held))} {reason}".strip()
        identity = f"{self.paper}/{self.figure}/{name}"
        if any(check.id == identity for check in self.checks):
            raise ValueError(f"two checks have the id {identity}")
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


def falls(curve: Mapping[Any, Sequence[float]], *, label: str = "", slack: float = 0.0) -> dict[str, float]:
    """Compare each point of a curve with the one before: its mean must be lower, but for some `slack`.

    >>> falls({1: [5.0], 2: [4.0], 3: [4.5]})
    {'from 1 to 2': True, 'from 2 to 3': False}
    >>> falls({1: [4.0, 5.0], 2: [4.5, 5.5]})
    {'from 1 to 2': nan}
    """
    return _steps(curve, label, lambda before, after: is_below(after, before, slack=slack))


def rises(curve: Mapping[Any, Sequence[float]], *, label: str = "", slack: float = 0.0) -> dict[str, float]:
    """Compare each point of a curve with the one before: its mean must be higher, but for some `slack`."""
    return _steps(curve, label, lambda before, after: is_below(before, after, slack=slack))


def _steps(curve: Mapping[Any, Sequence[float]], label: str, fits: Any) -> dict[str, float]:
    prefix = f"{label}, " if label else ""
    return {f"{prefix}from {one} to {two}": fits(curve[one], curve[two]) for one, two in pairwise(curve)}


def is_below(lower: Sequence[float], upper: Sequence[float], *, slack: float = 0.0) -> float:
    """Compare the means over seeds; an order that is reversed by less than two errors is undecided.

    The error is the standard error of the difference, so more seeds decide more.

    >>> is_below([1.0, 2.0], [2.0, 3.0]), is_below([2.0, 3.0], [1.0, 2.5]), is_below([3.0], [1.0])
    (True, nan, False)
    >>> is_below([2.0, 3.0] * 10, [1.0, 2.5] * 10)
    False
    """
    over = statistics.fmean(lower) - statistics.fmean(upper) * (1 + slack)
    if over < 0:
        return True
    squares = [statistics.variance(seeds) / len(seeds) if len(seeds) > 1 else 0.0 for seeds in (lower, upper)]
    error = math.sqrt(sum(squares))
    return UNDECIDED if error > 0 and over <= ERRORS * error else False


def below(
    lower: Mapping[Any, Sequence[float]], upper: Mapping[Any, Sequence[float]], *, label: str = ""
) -> dict[str, float]:
    """Compare two curves point by point: the mean of `lower` must be below that of `upper`.

    >>> below({1: [2.0], 2: [3.0]}, {1: [2.5], 2: [2.5]}, label="GM")
    {'GM at 1': True, 'GM at 2': False}
    """
    prefix = f"{label} " if label else ""
    return {f"{prefix}at {x}": is_below(lower[x], upper[x]) for x in lower if x in upper}


def near(
    value: float, target: float, *, tolerance: float = 0.1, loose: float = 0.25, label: str = "value"
) -> dict[str, float]:
    """Compare a number with the paper's: it holds within a relative tolerance, and partly within a loose one.

    >>> near(2.8, 3.0), near(2.5, 3.0), near(2.0, 3.0)
    ({'value 2.8 is off by 7%': 1.0}, {'value 2.5 is off by 17%': 0.5}, {'value 2 is off by 33%': 0.0})
    """
    return _score(f"{label} {value:.4g}", abs(value - target) / abs(target), tolerance, loose)


def roughly(value: float, target: float, *, share: bool = False, label: str = "value") -> dict[str, float]:
    """Compare a number whose input the paper does not state in full: it holds within 25 %, partly 50 %.

    A share also holds within 0.1, and partly within 0.2: small ones differ by large ratios.

    >>> roughly(10, 13), roughly(0.15, 0.06, share=True), roughly(0.5, 0.06, share=True)
    ({'value 10 against 13': 1.0}, {'value 0.15 against 0.06': 1.0}, {'value 0.5 against 0.06': 0.0})
    """
    ratio, apart = abs(value - target) / abs(target), round(abs(value - target), 9)
    scores = (
        score
        for score, part, step in ((1.0, 0.25, 0.1), (0.5, 0.5, 0.2))
        if ratio <= part or (share and apart <= step)
    )
    return {f"{label} {value:.3g} against {target:g}": next(scores, 0.0)}


def at_most(value: float, limit: float, *, loose: float = 0.1, label: str = "value") -> dict[str, float]:
    """Compare a number with the paper's upper limit: partly if it is above it by a small share.

    >>> at_most(1.7, 1.8), at_most(1.89, 1.8)
    ({'value 1.7 is off by 0%': 1.0}, {'value 1.89 is off by 5%': 0.5})
    """
    return _score(f"{label} {value:.4g}", max(value - limit, 0) / abs(limit), 0.0, loose)


def at_least(value: float, limit: float, *, loose: float = 0.1, label: str = "value") -> dict[str, float]:
    """Compare a number with the paper's lower limit: partly if it is below it by a small share.

    >>> at_least(1.9, 1.8), at_least(1.71, 1.8)
    ({'value 1.9 is off by 0%': 1.0}, {'value 1.71 is off by 5%': 0.5})
    """
    return _score(f"{label} {value:.4g}", max(limit - value, 0) / abs(limit), 0.0, loose)


def _score(label: str, off: float, tight: float, loose: float) -> dict[str, float]:
    return {f"{label} is off by {off:.0%}": 1.0 if off <= tight else 0.5 if off <= loose else 0.0}


def every(comparisons: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return several comparisons as one.

    >>> every([{"a": True}, {"b": False}])
    {'a': True, 'b': False}
    """
    return {label: score for each in comparisons for label, score in each.items()}


def describe_change(curve: Mapping[Any, Sequence[float]]) -> str:
    """Spell the first and the last point of a curve.

    >>> describe_change({100: [5.0, 6.0], 200: [4.0]})
    '5.5 (5 to 6) at 100, 4 at 200'
    """
    points = list(curve)
    return ", ".join(f"{Spread.of(curve[x])} at {x}" for x in dict.fromkeys((points[0], points[-1])))
