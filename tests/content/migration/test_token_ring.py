"""The token: it goes to the next broker alive, stops after a quiet round, and is replaced only if lost."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from meshwright.content.migration.broker_state import TokenObserver
from meshwright.content.migration.messages import Move, Token, TokenReport
from meshwright.content.migration.moves import TokenRing

PAUSE = 0.5


class Broker:
    """One broker with a ring, and what its ring does: sends, waits, and tells."""

    def __init__(self, me: int, alive: tuple[int, ...], dead: tuple[int, ...] = ()) -> None:
        self.sent: list[tuple[int, Any]] = []
        self.later: list[tuple[float, Callable[[], None]]] = []
        self.said: list[str] = []
        self.accepted: list[tuple[int, int]] = []
        self.log = SimpleNamespace(moves=list[Move](), extend=self.extend, append=self.append)
        self.log.running_cost = SimpleNamespace(state=SimpleNamespace(broker_of=np.array([0, 1, 2])))
        connection = SimpleNamespace(
            send=lambda to, message: self.sent.append((to, message)),
            call_later=lambda seconds, call: self.later.append((seconds, call)),
        )
        self.state = SimpleNamespace(
            me=me,
            alive=set(alive),
            dead=list(dead),
            users={me: SimpleNamespace(handover_complete=True)},
            stranded=set[int](),
            log=self.log,
            connection=connection,
            terms=SimpleNamespace(pause=PAUSE),
        )
        self.requests = SimpleNamespace(
            accepted={}, pending=False, request_moves=lambda: False, take_accepted=lambda: iter(self.accepted)
        )
        self.handover = SimpleNamespace(
            drop_lost_moves=lambda generation: self.said.append(f"lost before {generation}"),
            confirm_new_moves=lambda known: self.said.append(f"knew {known}"),
            begin=lambda move: self.said.append(f"begins {move.user}"),
        )
        self.admission = SimpleNamespace(waiting=[], admit=lambda generation: [])
        self.observer = Observer(self.said)
        self.ring = TokenRing(self.state, self.requests, self.handover, self.admission, self.observer)  # type: ignore[arg-type]

    def extend(self, start: int, moves: list[Move]) -> None:
        """Append the moves that are not there."""
        self.log.moves += moves[len(self.log.moves) - start :]

    def append(self, user: int, broker: int, generation: int, *, paid: bool) -> Move:
        """Append a move."""
        self.log.moves.append(Move(len(self.log.moves) + 1, user, broker, paid))
        return Move(*self.log.moves[-1])


class Observer(TokenObserver):
    """Notes its calls."""

    def __init__(self, said: list[str]) -> None:
        self.said = said

    def token_replaced(self, moves: int) -> None:
        self.said.append(f"replaced with {moves}")

    def token_stopped(self) -> None:
        self.said.append("stopped")

    def move_logged(self, move: Move) -> None:
        self.said.append(f"logged {move.user}")


def report(turn: int = -1, sent: tuple[int, int] = (-1, -1), **more: Any) -> TokenReport:
    """Return what a survivor knows after broker 9 crashed."""
    known: dict[str, Any] = {"dead": [9], "stopped": False, "generation": 0, "moves": []} | more
    return TokenReport(known["dead"], turn, *sent, known["stopped"], known["generation"], known["moves"])


@pytest.mark.parametrize(("me", "successor"), [(0, 2), (2, 5), (5, 0)])
def test_the_next_broker_alive_gets_it(me: int, successor: int) -> None:
    """After a pause, the token goes to the next higher id, or from the highest to the lowest."""
    broker = Broker(me, (0, 2, 5))
    broker.ring.receive(Token(4, 0, 0, [], 1))
    assert broker.sent == []
    [(seconds, call)] = broker.later
    call()
    assert seconds == PAUSE
    assert broker.sent == [(successor, Token(5, 0, 0, [], 2))]
    assert (broker.ring.turn, broker.ring.sent_turn, broker.ring.sent_to) == (4, 5, successor)


def test_one_broker_alone_keeps_it() -> None:
    """Without another broker, the token comes back after a pause, and stops after one quiet turn."""
    broker = Broker(1, (1,))
    broker.requests.pending = True
    broker.ring.receive(Token(0, 0, 0, [], 0))
    broker.later.pop()[1]()
    assert (broker.sent, broker.later[0][0]) == ([], PAUSE)
    broker.requests.pending = False
    broker.later.pop()[1]()
    assert broker.ring.stopped
    assert (broker.ring.turn, broker.later, broker.said[-1]) == (1, [], "stopped")


def test_it_stops_when_all_were_quiet_in_turn() -> None:
    """The token stops at the broker that makes a round quiet; it was received before that, and no more."""
    for quiet, stops in ((0, False), (1, False), (2, True)):
        broker = Broker(0, (0, 1, 2))
        broker.ring.receive(Token(7, 0, 0, [], quiet))
        assert broker.ring.stopped == stops
        assert bool(broker.later) != stops


@pytest.mark.parametrize(
    "reason", ["asks", "pending", "waiting", "expected", "on its way", "on a dead broker", "logs"]
)
def test_whoever_has_work_makes_a_round_begin_again(reason: str) -> None:
    """A move to log, a user to ask or a user to wait for sets the count of quiet brokers to zero."""
    broker = Broker(0, (0, 1), dead=(2,))
    broker.state.stranded = {2}
    if reason == "asks":
        broker.requests.request_moves = lambda: True
    elif reason == "pending":
        broker.requests.pending = True
    elif reason == "waiting":
        broker.admission.waiting = [5]
    elif reason == "expected":
        broker.state.users.clear()
    elif reason == "on its way":
        broker.state.users[0].handover_complete = False
    elif reason == "on a dead broker":
        broker.state.stranded.clear()
    else:
        broker.accepted = [(0, 1)]
    broker.ring.receive(Token(0, 0, 0, [], 1))
    assert not broker.ring.stopped
    if reason == "logs":  # goes on at once
        assert broker.said[-2:] == ["logged 0", "begins 0"]
        assert broker.sent == [(1, Token(1, 0, 0, broker.log.moves, 0))]
    else:
        broker.later.pop()[1]()
        assert broker.sent == [(1, Token(1, 0, 0, [], 0))]


def test_without_work_a_full_round_is_quiet() -> None:
    """Without any of these reasons, the same broker has nothing to do, even if users are stranded."""
    broker = Broker(0, (0, 1), dead=(2,))
    broker.state.stranded = {2}
    broker.ring.receive(Token(0, 0, 0, [], 1))
    assert broker.ring.stopped


def test_it_brings_the_moves_that_are_missing() -> None:
    """A token carries what the next broker may lack: since our last one, or all since a token was lost."""
    moves = [Move(number + 1, number, 1, True) for number in range(4)]
    broker = Broker(0, (0, 1))
    broker.ring.receive(Token(0, 0, 0, moves[:2], 0))
    broker.later.pop()[1]()
    broker.ring.receive(Token(2, 0, 1, moves[1:3], 0))
    broker.later.pop()[1]()
    broker.ring.receive(Token(4, 1, 1, moves[1:], 0))
    broker.later.pop()[1]()
    starts = [(message.start, len(message.moves)) for _, message in broker.sent]
    assert starts == [(0, 2), (2, 1), (1, 3)]
    assert broker.log.moves == moves
    assert broker.said == ["knew 0", "knew 2", "lost before 1", "knew 3"]
    assert broker.ring.generation == 1


@pytest.mark.parametrize(
    ("reports", "alive"),
    [
        ([report(turn=5), report(turn=4)], True),  # a survivor holds it
        ([report(turn=5, stopped=True), report(turn=4)], False),  # it stopped, and goes on
        ([report(turn=4, sent=(5, 1)), report(turn=3)], True),  # on its way to a survivor
        ([report(turn=4, sent=(5, 9)), report(turn=3)], False),  # on its way to the dead broker
        ([report(turn=4, sent=(5, 1)), report(turn=5, stopped=True)], False),  # it arrived and stopped
        ([report(turn=3, sent=(4, 1)), report(turn=4, sent=(5, 9))], False),  # an older one does not count
        ([report(), report()], False),  # nobody ever had it
    ],
)
def test_it_is_replaced_only_if_lost(reports: list[TokenReport], alive: bool) -> None:
    """Survivors that hold the token, or to which it is on its way, keep it; else there is a new one."""
    broker = Broker(0, (0, 1), dead=(9,))
    broker.ring.collect(0, reports[0])
    assert broker.said == []
    broker.ring.collect(1, reports[1])
    assert ("replaced with 0" in broker.said) != alive


def test_the_new_token_has_the_longest_log() -> None:
    """It has the next turn and generation, and the moves that the shortest log lacks."""
    moves = [Move(number + 1, number, 1, True) for number in range(3)]
    broker = Broker(0, (0, 1, 2), dead=(9,))
    broker.log.moves = moves[:1]
    broker.ring.collect(1, report(turn=1, moves=moves, generation=4))
    broker.ring.collect(2, report(turn=8, sent=(9, 9), moves=moves[:2]))
    broker.ring.collect(2, report(dead=[8, 9]))  # of another crash: it does not count
    broker.ring.collect(0, report(moves=moves[:1]))
    assert broker.said == []
    broker.ring.collect(2, report(turn=8, sent=(9, 9), moves=moves[:2]))
    assert broker.said[0] == "replaced with 3"
    assert (broker.ring.turn, broker.ring.generation) == (10, 5)
    assert broker.log.moves == moves
    broker.later.pop()[1]()
    assert broker.sent == [(1, Token(11, 5, 1, moves[1:], 1))]
    broker.ring.collect(1, report())
    assert "replaced" not in broker.said[-1]  # reports are used once


def test_reports_go_to_the_first_broker_alive() -> None:
    """A broker reports what it knows of the token; the first one takes its own report."""
    broker = Broker(2, (1, 2), dead=(0,))
    broker.ring.turn, broker.ring.generation, broker.ring.stopped = 6, 3, True
    broker.log.moves = [Move(1, 0, 1, True)]
    broker.ring.broker_down()
    assert broker.sent == [(1, report(turn=6, dead=[0], stopped=True, generation=3, moves=broker.log.moves))]
    alone = Broker(1, (1,), dead=(0, 2))
    alone.ring.broker_down()
    assert alone.sent == []
    assert "replaced with 0" in alone.said
