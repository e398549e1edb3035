"""How many topics each node subscribes to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from meshwright.errors import InputError
from meshwright.ids import is_whole
from meshwright.workloads.popularity import normalised, powers

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Sizes:
    """A power law on the integers from `minimum` to `maximum`: P(s) ∝ s^−exponent (icdcs16, section VI).

    Equal ends make a fixed size.
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
        """Choose between a fixed size (10 if nothing is given) and a range.

        >>> Sizes.of(size=3)
        Sizes(minimum=3, maximum=3, exponent=1.5)
        """
        if min_size is None and max_size is None:
            fixed = 10 if size is None else size
            return cls(fixed, fixed, exponent)
        if size is not None:
            raise InputError(
                "a size together with min_size or max_size: give either the one or the other two"
            )
        if min_size is None or max_size is None:
            raise InputError("only one of min_size and max_size: give both, or a fixed size")
        return cls(min_size, max_size, exponent)

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """The probability of each size from `minimum` to `maximum`."""
        return normalised(powers(self.maximum, self.exponent)[self.minimum - 1 :])
