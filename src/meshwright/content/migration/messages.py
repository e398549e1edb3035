"""The messages between users and brokers (cbps, section V), and their JSON form.

A broker's address is its id. A user's address is its id plus the number of brokers. All fields are numbers,
strings and sequences of these, so that every message can travel as JSON.

The paper names `register`, `summarize`, `request_to_move`, `accept`, `decline`, `replicate`, `connect` and
`redirect`. The other messages are ours: they deliver and acknowledge publications, order the moves, and
handle crashes. A publication is *settled* when every subscriber has acknowledged it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias, get_args


class UserProfile(NamedTuple):
    """What brokers know about a user."""

    user: int
    """The user's id."""
    subscriptions: Sequence[int]
    """The channels it subscribes to."""
    channels: Sequence[int]
    """The channels it publishes on."""
    rates: Sequence[float]
    """Its message rate on each of these."""
    access: Sequence[float]
    """The cost of its link to each broker."""


class Publication(NamedTuple):
    """A message that a user publishes."""

    publisher: int
    """The user."""
    number: int
    """The position among this user's publications, from 0."""
    channel: int
    """The channel."""
    first_unsettled: int
    """All of this user's publications with lower numbers are settled."""


class Branch(NamedTuple):
    """A broker in a dissemination tree, with what hangs below it."""

    broker: int
    """The broker."""
    users: Sequence[int]
    """The users on it that the message is for."""
    branches: Sequence[Branch]
    """The brokers that it forwards the message to."""


class Envelope(NamedTuple):
    """Something addressed to a user's broker, wherever the user is. One broker holds it at a time."""

    kind: str
    """`DELIVERY`, `ACKNOWLEDGEMENT` or `PUBLICATION`, as in `delivery`."""
    content: Sequence[int]
    """The fields of a publication; for an acknowledgement, number and receiver."""
    origin: int
    """The broker that gets it back if the user is not found."""


class Move(NamedTuple):
    """An entry of the move log: from now on, the user belongs to the broker."""

    version: int
    """Unique and increasing; see `MoveLog`."""
    user: int
    """The user."""
    broker: int
    """Its broker from now on."""
    paid: bool
    """True for a move that lowers the cost, False for the admission of a user whose broker crashed."""


# From users to brokers.


class Register(NamedTuple):
    """A user asks a broker to serve it: at the start, or because its broker crashed (cbps: register)."""

    profile: UserProfile


class Publish(NamedTuple):
    """A user publishes: for the first time, or again because the publication is not settled."""

    publication: Publication


class Received(NamedTuple):
    """A user acknowledges publications to its broker: publisher and number of each."""

    publications: Sequence[Sequence[int]]


class Accept(NamedTuple):
    """A user agrees to move to a broker (cbps: accept)."""

    user: int
    broker: int


class Decline(NamedTuple):
    """A user does not want to move to a broker (cbps: decline)."""

    user: int
    broker: int


class Connect(NamedTuple):
    """A user connects to its foreign broker (cbps: connect)."""

    user: int
    version: int


class GiveUp(NamedTuple):
    """No broker has room for a user. The first broker that hears it passes it on to the others."""

    user: int


# From brokers to users.


class Registered(NamedTuple):
    """The broker serves the user from now on."""

    version: int


class Refused(NamedTuple):
    """The broker has no room for the user."""


class Deliver(NamedTuple):
    """A publication for the user."""

    publication: Publication


class Settled(NamedTuple):
    """The user's publications with these numbers are settled."""

    numbers: Sequence[int]


class Returned(NamedTuple):
    """The user published at a broker that it left longer than the TTL ago: it must publish again."""

    publication: Publication


class RequestToMove(NamedTuple):
    """A broker asks a user to move, which lowers the cost by `gain` (cbps: request_to_move)."""

    broker: int
    gain: float


class ConnectTo(NamedTuple):
    """The home broker gives a user the address of its foreign broker."""

    broker: int
    version: int


# Between brokers.


class Summarize(NamedTuple):
    """The profiles of all users of a broker, at the start (cbps: summarize)."""

    profiles: Sequence[UserProfile]


class Located(NamedTuple):
    """A user is on a broker now: updates the summaries after a move."""

    user: int
    broker: int
    version: int


class Carry(NamedTuple):
    """A publication on its way down a dissemination tree."""

    publication: Publication
    origin: int
    branch: Branch


class Acknowledge(NamedTuple):
    """Users have received publications: publisher, number and receiver of each."""

    origin: int
    receipts: Sequence[Sequence[int]]


class Redirect(NamedTuple):
    """An envelope for a user that has moved to the addressed broker (cbps: redirect)."""

    user: int
    envelope: Envelope


class Bounce(NamedTuple):
    """An envelope goes back to its origin, with the user's latest broker that the sender knows."""

    user: int
    envelope: Envelope
    broker: int
    version: int


class Replicate(NamedTuple):
    """The home broker announces a user to the foreign broker (cbps: replicate)."""

    user: int
    version: int


class Replicated(NamedTuple):
    """The foreign broker has the move in its log: the user may come."""

    user: int
    version: int


class HandOver(NamedTuple):
    """The home broker has released a user, with its unsettled publications.

    Each has a number, a channel and the users that have not acknowledged it yet.
    """

    user: int
    unsettled: Sequence[tuple[int, int, Sequence[int]]]


class Token(NamedTuple):
    """The right to add to the move log, with the moves that the receiver may lack."""

    turn: int
    """How often the token has been passed on."""
    generation: int
    """How often a lost token has been replaced."""
    start: int
    """The position of the first of these moves in the log."""
    moves: Sequence[Move]
    """The log from there on."""
    quiet: int
    """How many brokers in a row had nothing to do."""


class TokenReport(NamedTuple):
    """What a broker knows about the token and the log when it learns of a crash."""

    dead: Sequence[int]
    """The brokers that it knows to be dead."""
    turn: int
    """The latest turn at which it held the token, or -1."""
    sent_turn: int
    """The latest turn at which it sent the token, or -1."""
    sent_to: int
    """The broker that it sent the token to."""
    stopped: bool
    """Whether it holds the token and no move pays."""
    generation: int
    """The generation of the token that it has seen."""
    moves: Sequence[Move]
    """Its whole log."""


Message: TypeAlias = (
    Register | Publish | Received | Accept | Decline | Connect | GiveUp | Registered | Refused | Deliver
    | Settled | Returned | RequestToMove | ConnectTo | Summarize | Located | Carry | Acknowledge | Redirect
    | Bounce | Replicate | Replicated | HandOver | Token | TokenReport
)  # fmt: skip

MESSAGE_TYPES: dict[str, Any] = {kind.__name__: kind for kind in get_args(Message)}
STORED_NAMES = {Token: "baton", TokenReport: "census"}
"""Names that `migration.json` uses for these messages."""


def stored_name(kind: type) -> str:
    """Return the name of a message type in figures: the paper's for its own.

    >>> stored_name(RequestToMove), stored_name(Token)
    ('request_to_move', 'baton')
    """
    if kind in STORED_NAMES:
        return STORED_NAMES[kind]
    letters = (f"_{letter.lower()}" if letter.isupper() else letter for letter in kind.__name__)
    return "".join(letters).lstrip("_")


def encode(sender: int, message: Message) -> bytes:
    """Return a message and its sender as JSON.

    >>> encode(3, Accept(user=7, broker=1))
    b'[3,"Accept",7,1]'
    """
    return json.dumps([sender, type(message).__name__, *message], separators=(",", ":")).encode()


def decode(payload: bytes) -> tuple[int, Message]:
    """Return the sender and the message.

    >>> decode(encode(3, Publish(Publication(1, 2, 3, 4))))
    (3, Publish(publication=Publication(publisher=1, number=2, channel=3, first_unsettled=4)))
    """
    sender, name, *values = json.loads(payload)
    kind = MESSAGE_TYPES[name]
    fields = [_decode_field(field, value) for field, value in zip(kind._fields, values, strict=True)]
    return sender, kind(*fields)


def _decode_field(field: str, value: Any) -> Any:
    """Turn the lists of JSON back into named tuples."""
    if field == "publication":
        return Publication(*value)
    if field == "profile":
        return UserProfile(*value)
    if field == "envelope":
        return Envelope(*value)
    if field == "branch":
        return _decode_branch(value)
    return value


def _decode_branch(value: Any) -> Branch:
    broker, users, branches = value
    return Branch(broker, users, [_decode_branch(each) for each in branches])
