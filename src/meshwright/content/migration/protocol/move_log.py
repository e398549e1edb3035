"""The move log: who belongs to which broker, as an append-only list that all brokers share.

Only the broker that holds the token appends, and its log is then complete. So every move is priced on exactly
the state that it changes, although many moves are under way, and no broker promises more than its capacity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from meshwright.content.assignment.incremental_cost import RunningCost
from meshwright.content.migration.protocol.messages import Move

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from meshwright.content.model.workload import Workload


GENERATION = 1_000_000_000
"""A move's version is its number in the log, from 1, plus this for each token that was lost before."""
MIN_SAVING = 1e-9
"""A move pays if it saves more than this share of the initial cost: less may be a rounding error."""


class MoveLog:
    """One broker's copy of the log, with the cost after its last move."""

    def __init__(self, workload: Workload, broker_of: ArrayLike) -> None:
        self.moves: list[Move] = []
        self.running_cost = RunningCost(workload, broker_of)
        self.min_saving = MIN_SAVING * self.running_cost.total

    def broker_of(self, user: int) -> int:
        """Return the broker that a user belongs to."""
        return int(self.running_cost.state.broker_of[user])

    def extend(self, start: int, moves: Sequence[Move]) -> None:
        """Append the moves that this copy lacks; the first of those given has position `start`."""
        for move in moves[len(self.moves) - start :]:
            self._append(Move(*move))

    def append(self, user: int, broker: int, generation: int, *, paid: bool) -> Move:
        """Append and return a move to a broker that has room."""
        move = Move(generation * GENERATION + len(self.moves) + 1, user, broker, paid)
        self._append(move)
        return move

    def holds(self, version: int) -> bool:
        """Return whether the move with this version is in this copy."""
        number = version % GENERATION
        return 0 < number <= len(self.moves) and self.moves[number - 1].version == version

    def _append(self, move: Move) -> None:
        self.running_cost.move(move.user, move.broker)
        self.moves.append(move)
