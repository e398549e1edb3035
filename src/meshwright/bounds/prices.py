"""Prices: a proof of how many links an interest needs at least."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import frozen
from meshwright.errors import InputError
from meshwright.interest import Interest

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCALE = 2**30
"""A price of 1, as an integer. The verifier has a constant of its own; a test compares them."""


@dataclass(frozen=True, eq=False)
class Prices:
    """A price for each subscription, and the number of links that they prove to be needed.

    `meshwright.verify.check_prices` finds `bound` again from `scaled`. docs/certificate.md has the proof.
    """

    interest: Interest
    scaled: NDArray[np.int64]
    """In the order of `interest.node_topics`, in units of 1/2³⁰."""
    bound: int
    """How many links every overlay that connects each topic needs at least."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "scaled", frozen(self.scaled, np.int64))

    def check(self, interest: Interest) -> None:
        """Reject any interest but the one that they were found for."""
        if self.interest is not interest and self.interest.fingerprint != interest.fingerprint:
            raise InputError("the prices were made for another interest: leave them out")

    @property
    def q(self) -> NDArray[np.float64]:
        """The prices as numbers from 0 to 1."""
        return self.scaled / SCALE

    def __repr__(self) -> str:
        return f"Prices(at least {self.bound:,} links for {self.interest.num_nodes:,} nodes)"


def gap(edges: int, bound: int) -> float | None:
    """Return by which share of a lower bound some links are above it; None if only the bound is 0.

    >>> gap(105, 100), gap(0, 0), gap(5, 0)
    (0.05, 0.0, None)
    """
    if bound:
        return (edges - bound) / bound
    return None if edges else 0.0
