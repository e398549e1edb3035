"""Requests to move: which users a broker asks, and which accepted moves it carries out (cbps, IV-C and V).

A move is priced twice. First when the user is asked, on the broker's copy of the move log. Then before it is
logged, on the complete log: other users may have moved in the meantime. A move that no longer pays is
withdrawn.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from meshwright.content.migration.protocol.broker_state import BrokerState
from meshwright.content.migration.protocol.messages import RequestToMove


class MoveRequests:
    """The open requests of one broker, the accepted ones, and those that were declined."""

    def __init__(self, state: BrokerState) -> None:
        self._state = state
        self.requested: dict[int, int] = {}
        """The users that have been asked and have not answered: user → foreign broker."""
        self.accepted: dict[int, int] = {}
        """The users that have accepted and wait for the token."""
        self.declined: set[tuple[int, int]] = set()
        """Pairs of user and broker that were declined: the user is not asked again."""

    @property
    def pending(self) -> bool:
        """Whether a request is unanswered, or an accepted move is not logged yet."""
        return bool(self.requested or self.accepted)

    def answer(self, user: int, broker: int, *, accepted: bool) -> None:
        """Take a user's answer."""
        if self.requested.get(user) != broker:
            # The request was dropped because the foreign broker crashed.
            return
        del self.requested[user]
        self._state.events["accepted" if accepted else "declined"] += 1
        if accepted:
            self.accepted[user] = broker
        else:
            self.declined.add((user, broker))

    def broker_down(self, broker: int) -> None:
        """Drop all moves to a dead broker."""
        for moves in (self.requested, self.accepted):
            for user in [user for user, foreign in moves.items() if foreign == broker]:
                del moves[user]

    def take_accepted(self) -> Iterator[tuple[int, int]]:
        """Yield the accepted moves that still pay and have room; only with the token.

        Each is priced when it is yielded, so the caller must log it before it asks for the next.
        """
        state, running_cost = self._state, self._state.log.running_cost
        accepted, self.accepted = self.accepted, {}
        for user, broker in accepted.items():
            local = state.users.get(user)
            if local is None or not local.handover_complete or state.log.broker_of(user) != state.me:
                continue
            pays = running_cost.has_room(user, broker) and (
                running_cost.change(user, broker) < -state.log.min_saving
            )
            if pays:
                yield user, broker
            else:
                state.events["withdrawn"] += 1

    def request_moves(self) -> bool:
        """Ask users to move, those with the most traffic first; return whether any move pays."""
        state = self._state
        any_pays = False
        mine = np.flatnonzero(state.log.running_cost.state.broker_of == state.me)
        for user in mine[np.argsort(-state.workload.load[mine], kind="stable")].tolist():
            if len(self.requested) + len(self.accepted) >= state.terms.requests:
                return True
            if user in self.requested or user in self.accepted:
                continue
            broker, change = self._best_broker(user)
            if change < -state.log.min_saving:
                any_pays = True
                local = state.users.get(user)
                if local is not None and local.handover_complete:
                    self.requested[user] = broker
                    state.send_to_user(user, RequestToMove(broker, -change))
        return any_pays

    def _best_broker(self, user: int) -> tuple[int, float]:
        """Return the broker where a user costs least, and the change of cost if it moves there.

        That is this broker, and a change of 0, if no other that has room, lives and was not declined is
        better.
        """
        state, standing = self._state, self._state.log.running_cost.state
        changes = state.log.running_cost.changes(user)
        changes[standing.broker_load + standing.load[user] > standing.room] = np.inf
        for broker in range(state.num_brokers):
            if broker not in state.alive or (user, broker) in self.declined:
                changes[broker] = np.inf
        changes[state.me] = 0.0
        best = int(np.argmin(changes))
        return best, float(changes[best])
