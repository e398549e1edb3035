"""Prices: a proof that an interest needs at least so many links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import frozen
from meshwright.errors import InputError
from meshwright.interest import Interest
from meshwright.verify.certificate import SCALE

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Prices:
    """A price for each subscription, and the number of links that they prove to be needed.

    `scaled` is in the order of `interest.node_topics`, in units of 1/2³⁰; `meshwright.measure.check_prices`
    finds `bound` again from it. docs/certificate.md has the proof.
    """

    interest: Interest
    scaled: NDArray[np.int64]
    bound: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "scaled", frozen(self.scaled, np.int64))

    def check(self, interest: Interest) -> None:
        """Refuse to serve another interest than the one that they were found for."""
        if self.interest is not interest and self.interest.fingerprint != interest.fingerprint:
            raise InputError("the prices were made for another interest: leave them out")

    @property
    def q(self) -> NDArray[np.float64]:
        """The prices as numbers from 0 to 1."""
        return self.scaled / SCALE

    def __repr__(self) -> str:
        return f"Prices(at least {self.bound:,} links for {self.interest.num_nodes:,} nodes)"
