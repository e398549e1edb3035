"""The token that orders moves: it goes round among the brokers, and its holder appends to the move log.

The token brings the moves that its receiver lacks. When it has gone round once and no broker had a move to
log, a user to ask or a user to wait for, no move pays, and the token stops.

If the token is lost in a crash, the surviving brokers report what they know to the first of them, which
issues a new token with the longest log.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from meshwright.content.migration.protocol.broker_state import BrokerState
from meshwright.content.migration.protocol.messages import Move, Token, TokenReport
from meshwright.content.migration.protocol.moves import Admission, Handover, MoveRequests


class TokenObserver:
    """Callbacks for an observer outside the protocol; by default, they do nothing."""

    def move_logged(self, move: Move) -> None:
        """Note that a move was appended to the log."""

    def token_received(self) -> None:
        """Note that a broker has received the token."""

    def token_replaced(self, moves: int) -> None:
        """Note that a lost token was replaced, with a log of this many moves."""

    def token_stopped(self) -> None:
        """Note that no move pays any more."""


class TokenRing:
    """One broker's part in passing the token round."""

    def __init__(
        self,
        state: BrokerState,
        requests: MoveRequests,
        handover: Handover,
        admission: Admission,
        observer: TokenObserver,
    ) -> None:
        self._state, self._requests, self._handover = state, requests, handover
        self._admission, self._observer = admission, observer
        self.generation = 0
        self.turn = self.sent_turn = self.sent_to = -1
        self.stopped = False
        self._sent_length: int | None = None
        """The length of the log when we last sent a token of this generation: all brokers have that much."""
        self._reports: dict[int, TokenReport] = {}

    def receive(self, token: Token) -> None:
        """Take the token: complete the log, append moves, ask users, and pass the token on."""
        state, log = self._state, self._state.log
        self.turn, self.stopped = token.turn, False
        self._observer.token_received()
        known = len(log.moves)
        log.extend(token.start, token.moves)
        if token.generation > self.generation:
            self.generation, self._sent_length = token.generation, None
            self._handover.drop_lost_moves(token.generation)
        self._handover.confirm_new_moves(known)
        before = len(log.moves)
        self._log_moves()
        appended = len(log.moves) > before
        busy = self._requests.request_moves() or self._requests.pending or appended
        quiet = 0 if busy or self._waits_for_users() else token.quiet + 1
        if quiet >= len(state.alive):
            self.stopped = True
            self._observer.token_stopped()
            return
        start = token.start if self._sent_length is None else self._sent_length
        self._sent_length = len(log.moves)
        onward = Token(token.turn + 1, token.generation, start, log.moves[start:], quiet)
        if appended:
            self._pass_on(onward)
        else:
            state.connection.call_later(state.terms.pause, lambda: self._pass_on(onward))

    def broker_down(self) -> None:
        """Report what we know to the first broker alive, after a crash."""
        state = self._state
        report = TokenReport(
            state.dead,
            self.turn,
            self.sent_turn,
            self.sent_to,
            self.stopped,
            self.generation,
            list(state.log.moves),
        )
        first = min(state.alive)
        if first == state.me:
            self.collect(state.me, report)
        else:
            state.connection.send(first, report)

    def collect(self, sender: int, report: TokenReport) -> None:
        """Take a report; once all survivors have reported the same crashes, replace the token if lost."""
        state = self._state
        self._reports[sender] = report
        latest_reports = [self._reports.get(broker) for broker in sorted(state.alive)]
        dead = state.dead
        reports = [each for each in latest_reports if each is not None and list(each.dead) == dead]
        if len(reports) < len(state.alive):
            return
        self._reports.clear()
        turn = max(max(each.turn, each.sent_turn) for each in reports)
        if not self._is_alive(reports, turn):
            self._replace(reports, turn)

    def _is_alive(self, reports: Sequence[TokenReport], turn: int) -> bool:
        """Return whether a survivor holds the token, or it is on its way to one; `turn` is the latest."""
        if any(0 <= each.turn == turn and not each.stopped for each in reports):
            return True
        on_its_way = any(
            0 <= each.sent_turn == turn and each.sent_to in self._state.alive for each in reports
        )
        return on_its_way and not any(each.stopped and each.turn == turn for each in reports)

    def _replace(self, reports: Sequence[TokenReport], turn: int) -> None:
        """Issue a new token with the longest log; a stopped token starts again in the same way."""
        longest = max((each.moves for each in reports), key=len)
        start = min(len(each.moves) for each in reports)
        generation = max(each.generation for each in reports) + 1
        self._observer.token_replaced(len(longest))
        self.receive(Token(turn + 1, generation, start, longest[start:], 0))

    def _log_moves(self) -> None:
        """Admit users that wait, and log the accepted moves that still pay."""
        for user in self._requests.accepted.keys() & set(self._admission.waiting):
            del self._requests.accepted[user]
        for move in self._admission.admit(self.generation):
            self._observer.move_logged(move)
        for user, broker in self._requests.take_accepted():
            move = self._state.log.append(user, broker, self.generation, paid=True)
            self._observer.move_logged(move)
            self._handover.begin(move)

    def _waits_for_users(self) -> bool:
        """Return whether a user waits for admission, is on its way here, or is logged on a dead broker."""
        state = self._state
        broker_of = state.log.running_cost.state.broker_of
        mine = set(np.flatnonzero(broker_of == state.me).tolist()) - state.stranded
        expected = (state.users.get(user) for user in mine)
        if self._admission.waiting or not all(local and local.handover_complete for local in expected):
            return True
        on_dead = np.flatnonzero(np.isin(broker_of, state.dead)).tolist()
        return any(user not in state.stranded for user in on_dead)

    def _pass_on(self, token: Token) -> None:
        """Send the token to the next broker alive, by id."""
        state = self._state
        higher = [broker for broker in sorted(state.alive) if broker > state.me]
        successor = higher[0] if higher else min(state.alive)
        if successor == state.me:
            state.connection.call_later(state.terms.pause, lambda: self.receive(token))
            return
        self.sent_turn, self.sent_to = token.turn, successor
        state.connection.send(successor, token)
