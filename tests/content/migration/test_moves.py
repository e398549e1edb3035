"""Requests to move: how many users a broker asks at a time, which ones, and what an answer changes."""

from __future__ import annotations

import numpy as np
import pytest

from meshwright.content import Workload
from meshwright.content.migration import Terms
from meshwright.content.migration.broker_state import GENERATION, BrokerState, LocalUser
from meshwright.content.migration.delivery import ChannelTrees, Publications
from meshwright.content.migration.messages import Message, Move, Refused, RequestToMove
from meshwright.content.migration.moves import Handover, MoveRequests

USERS, BROKERS = 6, 2


class Recorder:
    """A connection that keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, Message]] = []

    def send(self, to: int, message: Message) -> None:
        """Keep a message."""
        self.sent.append((to, message))


@pytest.fixture
def connection() -> Recorder:
    return Recorder()


@pytest.fixture
def requests(connection: Recorder) -> MoveRequests:
    """Make broker 0 with six users that would all be cheaper on broker 1, the last with the most traffic."""
    workload = Workload.build(
        [f"u{user}" for user in range(USERS)],
        ["far", "near"],
        ["news"],
        rates=(np.arange(USERS), np.zeros(USERS, int), np.arange(1.0, USERS + 1)),
        subscriptions=([0], [0]),
        access=[[10.0, 1.0]] * USERS,
        core=np.zeros((BROKERS, BROKERS)),
        capacity=np.inf,
    )
    state = BrokerState(0, BROKERS, connection, Terms(requests=3))  # type: ignore[arg-type]
    state.initialize(workload, dict.fromkeys(range(USERS), 0))
    state.users = {user: LocalUser(connected=True) for user in range(USERS)}
    return MoveRequests(state)


def asked(connection: Recorder) -> list[int]:
    """Return the users that were asked, in order."""
    return [to - BROKERS for to, message in connection.sent if isinstance(message, RequestToMove)]


def test_open_requests_are_limited(requests: MoveRequests, connection: Recorder) -> None:
    """Unanswered and accepted requests together stay within the limit; declined ones make room."""
    loads = requests._state.workload.load
    order = np.argsort(-loads, kind="stable").tolist()
    assert requests.request_moves()
    assert asked(connection) == order[:3]
    assert requests.request_moves()
    requests.answer(order[0], 1, accepted=True)
    requests.answer(order[1], 1, accepted=True)
    assert requests.request_moves()
    assert asked(connection) == order[:3]
    requests.answer(order[2], 1, accepted=False)
    assert requests.request_moves()
    assert asked(connection) == order[:4]
    assert (requests.declined, set(requests.accepted)) == ({(order[2], 1)}, set(order[:2]))


def test_accepted_moves_are_taken_once(requests: MoveRequests) -> None:
    """With the token, accepted moves that still pay are taken; a user that is on its way is left out."""
    requests.request_moves()
    first, second, third = requests.requested
    for user in (first, second):
        requests.answer(user, 1, accepted=True)
    requests._state.users[second].home = 1
    assert requests.pending
    assert list(requests.take_accepted()) == [(first, 1)]
    assert list(requests.take_accepted()) == []
    assert list(requests.requested) == [third]


def test_answers_that_nobody_waits_for_are_ignored(requests: MoveRequests) -> None:
    """An answer counts only for the broker that the user was asked about; a crash drops the request."""
    requests.request_moves()
    user = next(iter(requests.requested))
    requests.answer(user, 0, accepted=True)
    assert not requests.accepted
    requests.broker_down(1)
    requests.answer(user, 1, accepted=True)
    assert not requests.pending
    requests._state.alive.discard(1)
    assert not requests.request_moves()


def test_only_moves_of_earlier_tokens_are_lost(requests: MoveRequests) -> None:
    """A new token drops users whose move is of an earlier one and not in the log; others stay expected."""
    state = requests._state
    logged = state.log.append(3, 1, 1, paid=True)
    handover = Handover(state, Publications(state, ChannelTrees(state)))
    versions = {0: GENERATION + 7, 1: 2 * GENERATION + 7, 2: 3 * GENERATION + 7, 3: logged.version}
    state.users = {user: LocalUser(version=version) for user, version in versions.items()}
    handover.drop_lost_moves(2)
    assert set(state.users) == {1, 2, 3}


@pytest.fixture
def handover(requests: MoveRequests) -> Handover:
    state = requests._state
    return Handover(state, Publications(state, ChannelTrees(state)))


def test_a_user_that_is_not_expected_is_refused(
    requests: MoveRequests, handover: Handover, connection: Recorder
) -> None:
    """A user that nobody announced, or with another version, is refused; an expected one is served."""
    state = requests._state
    del state.users[1]
    handover.replicate(1, 2, 4)
    state.users[2].connected = False
    for user, version in ((1, 5), (2, 5)):
        connection.sent.clear()
        handover.connect(user, version)
        assert [(to - BROKERS, type(message)) for to, message in connection.sent] == [(user, Refused)]
    assert 1 not in state.users
    assert not state.users[2].connected
    handover.replicate(1, 3, 7)
    state.users[3].connected = False
    handover.connect(3, 7)
    assert state.users[3].connected
    assert not state.users[3].handover_complete  # its home has not handed it over


def test_nothing_comes_from_a_dead_home(requests: MoveRequests, handover: Handover) -> None:
    """If the home broker crashes before or after the user connects, there is nothing to wait for."""
    state = requests._state
    for user in (1, 2):
        handover.replicate(1, user, 7)
        state.users[user].connected = False
    handover.connect(1, 7)
    handover.leaving = {4: Move(1, 4, 1, True), 5: Move(2, 5, 0, True)}
    state.alive.discard(1)
    assert handover.broker_down(1) == [4]
    assert set(handover.leaving) == {5}
    assert state.users[1].handover_complete
    assert not state.users[2].handover_complete
    handover.connect(2, 7)
    assert state.users[2].handover_complete


def test_publications_of_stranded_users_are_settled(requests: MoveRequests, handover: Handover) -> None:
    """Unsettled publications wait for whom both lists name; if all of these are stranded, they settle."""
    state, settled = requests._state, []
    handover._publications.settle = lambda user, local, number: settled.append((user, number))  # type: ignore[method-assign, assignment]
    state.users[0] = LocalUser(home=1, connected=True)
    state.users[0].unsettled[8] = 0, {3, 4}
    state.stranded.add(5)
    handover.take_over(0, [(7, 0, [5]), (8, 0, [4, 5, 2]), (9, 0, [2, 5])])
    assert settled == [(0, 7)]
    assert state.users[0].unsettled == {8: (0, {4}), 9: (0, {2})}
    assert state.users[0].home is None
    handover.take_over(17, [(1, 0, [2])])  # of a user who has gone on: nothing happens
    assert 17 not in state.users
