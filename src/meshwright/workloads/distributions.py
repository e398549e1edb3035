"""How popular topics are (Zipf, exponential, uniform) and how many topics each node takes.

Probabilities are computed in decimal arithmetic, whose exp and ln are correctly rounded by definition, and
then rounded to floats. So they are the same on every platform.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import MOST, is_whole
from meshwright.errors import InputError

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    Popularity: TypeAlias = NDArray[np.float64]
    from numpy.typing import NDArray


def check_count(count: int, what: str) -> None:
    """Raise an InputError unless a count is a whole number from 1 to the largest id."""
    if not is_whole(count):
        raise InputError(f"{count!r} {what}: give a whole number of at least 1")
    if count < 1:
        raise InputError(f"{count} {what}: give at least 1")
    if count > MOST:
        raise InputError(f"{count} {what}: at most {MOST} (2³¹ − 1) ids exist; give fewer")


_EXACT = Context(prec=34, traps=[])

HEAD_MASS = Decimal("0.55")
"""Share of the probability that the most popular 10% of the topics carry (podc07, section 8)."""


def zipf_popularity(topics: int, alpha: float = 0.5) -> Popularity:
    """Return p_i ∝ i^−alpha for i = 1 … topics (podc07: alpha = 0.5; icdcs16: 2.0); 0 is uniform.

    >>> zipf_popularity(4, alpha=1).round(2).tolist()
    [0.48, 0.24, 0.16, 0.12]
    """
    check_count(topics, "topics")
    if not (math.isfinite(alpha) and alpha >= 0):
        raise InputError(f"a Zipf exponent (alpha) of {alpha}: give a number of at least 0 (0.5 is usual)")
    return normalised(powers(topics, alpha))


def exponential_popularity(topics: int) -> Popularity:
    """Return p_i ∝ r^i, with r such that the most popular 10% of the topics carry 0.55 of the probability.

    With x = r^(topics / 10) this means (1 − x) / (1 − x^10) = 0.55 for any number of topics. It holds exactly
    if ten divides the number of topics, and between two topics otherwise.

    >>> float(exponential_popularity(200)[:20].sum().round(6))
    0.55
    """
    check_count(topics, "topics")
    low, high = Decimal(0), Decimal(1)
    for _ in range(100):
        x = _EXACT.divide(_EXACT.add(low, high), Decimal(2))
        geometric = Decimal(0)
        for _ in range(10):
            geometric = _EXACT.fma(geometric, x, Decimal(1))
        low, high = (x, high) if _EXACT.multiply(geometric, HEAD_MASS) < 1 else (low, x)
    exponent = _EXACT.divide(Decimal(10), Decimal(topics))
    ratio = _EXACT.exp(_EXACT.multiply(exponent, _EXACT.ln(low)))
    weights = [Decimal(1)]
    for _ in range(topics - 1):
        weights.append(_EXACT.multiply(weights[-1], ratio))
    return normalised(weights)


def uniform_popularity(topics: int) -> Popularity:
    """Return p_i = 1 / topics."""
    check_count(topics, "topics")
    return np.full(topics, 1 / topics)


def powers(count: int, exponent: float) -> list[Decimal]:
    """Return i^−exponent for i = 1 … count, to 32 digits.

    Only primes need a logarithm; other numbers are products of earlier powers.
    """
    smallest_factor = list(range(count + 1))
    for factor in range(2, math.isqrt(count) + 1):
        if smallest_factor[factor] == factor:
            for multiple in range(factor * factor, count + 1, factor):
                smallest_factor[multiple] = min(smallest_factor[multiple], factor)
    power = [Decimal(1)] * (count + 1)
    for i in range(2, count + 1):
        factor = smallest_factor[i]
        if factor == i:
            power[i] = _EXACT.exp(_EXACT.multiply(Decimal(-exponent), _EXACT.ln(Decimal(i))))
        else:
            power[i] = _EXACT.multiply(power[factor], power[i // factor])
    return power[1:]


def normalised(weights: list[Decimal]) -> Popularity:
    """Divide weights by their sum."""
    total = Decimal(0)
    for weight in weights:
        total = _EXACT.add(total, weight)
    return np.array([float(_EXACT.divide(weight, total)) for weight in weights])


@dataclass(frozen=True)
class Sizes:
    """A power law on the integers from `minimum` to `maximum`: P(s) ∝ s^−exponent (icdcs16, section VI).

    With `minimum == maximum` the size is fixed.
    """

    minimum: int
    maximum: int
    exponent: float = 1.5

    def __post_init__(self) -> None:
        for size in (self.minimum, self.maximum):
            if not is_whole(size):
                raise InputError(f"{size!r} topics for each node: give a whole number of at least 1")
        if self.minimum < 1:
            raise InputError(f"{self.minimum} topics for each node: give a size of at least 1")
        if self.maximum < self.minimum:
            raise InputError(
                f"a largest size of {self.maximum} is below the smallest, {self.minimum}: exchange them"
            )
        if not math.isfinite(self.exponent):
            raise InputError(f"a size exponent of {self.exponent}: give a number (1.5 is usual)")

    @classmethod
    def of(
        cls,
        size: int | None = None,
        min_size: int | None = None,
        max_size: int | None = None,
        exponent: float = 1.5,
    ) -> Sizes:
        """Return a fixed size (10 by default) or a range of sizes.

        >>> Sizes.of(size=3)
        Sizes(minimum=3, maximum=3, exponent=1.5)
        """
        if min_size is None and max_size is None:
            fixed = 10 if size is None else size
            return cls(fixed, fixed, exponent)
        if size is not None:
            raise InputError(
                "size cannot be combined with min_size or max_size: give either size, or both of the others"
            )
        if min_size is None or max_size is None:
            raise InputError("only one of min_size and max_size: give both, or a fixed size")
        return cls(min_size, max_size, exponent)

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """The probability of each size from `minimum` to `maximum`."""
        return normalised(powers(self.maximum, self.exponent)[self.minimum - 1 :])
