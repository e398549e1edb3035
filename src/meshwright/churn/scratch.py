"""Low-ODA from scratch during a run of churn: what repairs are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from meshwright import measure
from meshwright.errors import InputError
from meshwright.greedy import grow, rules
from meshwright.jit.announce import working_seconds

if TYPE_CHECKING:
    from meshwright.churn.live import LiveOverlay


@dataclass(frozen=True)
class Scratch:
    """The overlay that Low-ODA(ρ) makes of the nodes of one round."""

    max_degree: int
    average_degree: float
    seconds: float
    """How long Low-ODA took."""


class FromScratch:
    """Low-ODA from scratch at regular intervals of one sequence of events.

    It depends on the events and ρ only. So the runs of several policies can share one object, and each round
    is designed once. One design takes as long as hundreds or thousands of repairs.

    Parameters
    ----------
    every
        Design after each `every`-th round; 1 is every round, as the paper's Fig. 6 has it; None is never.

    Raises
    ------
    InputError
        If `every` is below 1.
    """

    def __init__(self, every: int | None = None) -> None:
        if every is not None and every < 1:
            raise InputError(f"Low-ODA from scratch every {every} rounds: give 1 or more, or None for never")
        self.every = every
        self._known: dict[tuple[int, float], Scratch] = {}

    def after(self, rounds: int, live: LiveOverlay) -> Scratch | None:
        """Return the design of the nodes after some rounds, if it is due then."""
        if self.every is None or rounds % self.every:
            return None
        return self.design(rounds, live)

    def design(self, rounds: int, live: LiveOverlay) -> Scratch:
        """Return the design of the nodes after some rounds."""
        key = (rounds, live.policy.rho)
        if key not in self._known:
            interest = live.interest()
            began = working_seconds()
            overlay = grow(interest, rules.low(live.policy.rho))
            seconds = working_seconds() - began
            degrees = measure.degrees(overlay)
            self._known[key] = Scratch(degrees.maximum, degrees.average, seconds)
        return self._known[key]
