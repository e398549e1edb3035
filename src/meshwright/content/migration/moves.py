"""Moves of users: requests, handover, and admission of users whose broker crashed (cbps, IV-C and V).

A move is priced twice. First when the user is asked, on the broker's copy of the move log. Then before it is
logged, on the complete log: other users may have moved in the meantime. A move that no longer pays is
withdrawn.

A handover takes these steps; home and foreign broker are the old and the new one:

1. home logs the move and sends `Replicate` to foreign;
2. foreign answers `Replicated`, once the move has reached its log;
3. home sends the user `ConnectTo`, sends foreign the user's unsettled publications with `HandOver`, and
   redirects what still arrives for the user, until the TTL ends;
4. the user sends `Connect` to foreign, which tells all brokers with `Located`.

Because of step 2, the move survives as long as foreign does, even if all other brokers crash. So no user
moves by an entry that gets lost, and its room stays reserved.

A token orders moves: it goes round among the brokers, and its holder appends to the move log. It brings the
moves that its receiver lacks. When it has gone round once and no broker had a move to log, a user to ask or a
user to wait for, no move pays, and the token stops. If it is lost in a crash, the surviving brokers report
what they know to the first of them, which issues a new token with the longest log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from meshwright.content.migration import messages
from meshwright.content.migration.broker_state import (
    GENERATION,
    BrokerState,
    DepartedUser,
    LocalUser,
    TokenObserver,
)
from meshwright.content.migration.delivery import Publications
from meshwright.content.migration.messages import Move, RequestToMove, Token, TokenReport


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


class Handover:
    """Users that leave this broker, and users that come to it."""

    def __init__(self, state: BrokerState, publications: Publications) -> None:
        self._state, self._publications = state, publications
        self._delivery = publications.delivery
        self.leaving: dict[int, Move] = {}
        """The moves that were announced to the foreign broker; until it answers, the user is served here."""

    def begin(self, move: Move) -> None:
        """Announce a logged move to the foreign broker (home, step 1)."""
        self.leaving[move.user] = move
        self._state.connection.send(move.broker, messages.Replicate(move.user, move.version))

    def replicate(self, home: int, user: int, version: int) -> None:
        """Expect a user, and confirm it if its move is in the log (foreign, step 2)."""
        local = self._state.users.setdefault(user, LocalUser())
        local.home, local.version = home, version
        self._confirm(user)

    def confirm_new_moves(self, first: int) -> None:
        """Confirm the users whose moves have just arrived in the log, from position `first` on."""
        for move in self._state.log.moves[first:]:
            local = self._state.users.get(move.user)
            if local is not None and local.version == move.version:
                self._confirm(move.user)

    def replicated(self, user: int, version: int) -> None:
        """Send a user and its publications to the foreign broker (home, step 3)."""
        state = self._state
        move = self.leaving.get(user)
        if move is None or move.version != version:
            return
        del self.leaving[user]
        local = state.users.pop(user)
        self._publications.report_settled(user, local)
        state.send_to_user(user, messages.ConnectTo(move.broker, version))
        unsettled = [
            (number, channel, sorted(missing)) for number, (channel, missing) in local.unsettled.items()
        ]
        state.connection.send(move.broker, messages.HandOver(user, unsettled))
        state.departed[user] = DepartedUser(move.broker, state.connection.now() + state.terms.ttl)
        self._delivery.learn_location(user, move.broker, version)

    def take_over(self, user: int, unsettled: Sequence[tuple[int, int, Sequence[int]]]) -> None:
        """Take over a user's unsettled publications (foreign, step 3)."""
        local = self._state.users.get(user)
        if local is None:
            # It has gone to another broker since, and will publish them again there.
            return
        for number, channel, missing in unsettled:
            # If the user has published it again here already, both lists of missing users are valid.
            known = local.unsettled.get(number)
            left = set(missing) - self._state.stranded
            left = left if known is None else left & known[1]
            local.unsettled[number] = channel, left
            if not left:
                # All users that were missing are stranded by now.
                del local.unsettled[number]
                self._publications.settle(user, local, number)
        local.home = None
        self._delivery.deliver_waiting(user)

    def connect(self, user: int, version: int) -> None:
        """Serve a user that connects, and tell all brokers (foreign, step 4)."""
        local = self._state.users.get(user)
        if local is None or local.version != version:
            self._state.send_to_user(user, messages.Refused())
            return
        local.connected = True
        self._delivery.welcome(user, version)
        if local.home is not None and local.home not in self._state.alive:
            # Its home broker crashed: there is nothing to take over.
            self.take_over(user, [])

    def broker_down(self, broker: int) -> list[int]:
        """Drop all handovers with a dead broker; return the users here that were to move to it."""
        for user, local in list(self._state.users.items()):
            if local.home == broker and local.connected:
                self.take_over(user, [])
        stayed = [user for user, move in self.leaving.items() if move.broker == broker]
        for user in stayed:
            del self.leaving[user]
        for user in [user for user, gone in self._state.departed.items() if gone.foreign == broker]:
            del self._state.departed[user]
        return stayed

    def user_located(self, user: int) -> None:
        """Stop expecting a user if it has connected to another broker by a later move."""
        local = self._state.users.get(user)
        if local is not None and local.version < self._state.directory[user][1]:
            self._delivery.stop_expecting(user)

    def drop_lost_moves(self, generation: int) -> None:
        """Stop expecting users whose move was lost with an earlier token."""
        for user, local in list(self._state.users.items()):
            lost = local.version // GENERATION < generation and not self._state.log.holds(local.version)
            if not local.connected and lost:
                self._delivery.stop_expecting(user)

    def _confirm(self, user: int) -> None:
        """Tell the home broker that the user may come, if its move is in the log."""
        local = self._state.users[user]
        if local.home is not None and not local.connected and self._state.log.holds(local.version):
            self._state.connection.send(local.home, messages.Replicated(user, local.version))


class Admission:
    """Users that ask this broker to serve them after a crash, and wait for the token to be logged."""

    def __init__(self, state: BrokerState, publications: Publications) -> None:
        self._state, self._delivery = state, publications.delivery
        self.waiting: list[int] = []

    def request(self, user: int) -> None:
        """Add a user to those that wait."""
        if user not in self.waiting:
            self.waiting.append(user)

    def admit(self, generation: int) -> Iterator[Move]:
        """Log and yield the users for whom there is room, and refuse the others; only with the token."""
        state = self._state
        waiting, self.waiting = self.waiting, []
        for user in waiting:
            if state.log.running_cost.has_room(user, state.me):
                move = state.log.append(user, state.me, generation, paid=False)
                self._serve(user, move.version)
                yield move
            else:
                state.send_to_user(user, messages.Refused())
                self._delivery.stop_expecting(user)

    def _serve(self, user: int, version: int) -> None:
        state = self._state
        local = state.users.setdefault(user, LocalUser())
        local.connected, local.home, local.version = True, None, version
        state.send_to_user(user, messages.Registered(version))
        self._delivery.welcome(user, version)


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
        turns = self.turn, self.sent_turn, self.sent_to
        report = TokenReport(state.dead, *turns, self.stopped, self.generation, list(state.log.moves))
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
