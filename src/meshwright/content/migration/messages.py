"""The messages between users and brokers (cbps, section V), and their form as JSON.

Brokers are addressed by their ids, users by their ids counted on from there. All parts are numbers, strings
and lists of these, so that a message may also travel as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias, get_args


class Row(NamedTuple):
    """What is to know of a user: what it wants, what it sends, and what its link to each broker costs."""

    user: int
    subscriptions: Sequence[int]
    channels: Sequence[int]
    rates: Sequence[float]
    access: Sequence[float]


class Publication(NamedTuple):
    """A message of a user: its own number, and the first number that is not known to be settled."""

    publisher: int
    number: int
    channel: int
    below: int


class Branch(NamedTuple):
    """A part of a tree: for whom a message is at a broker, and the branches that it goes on to."""

    broker: int
    targets: Sequence[int]
    branches: Sequence[Branch]


class Parcel(NamedTuple):
    """Something for whoever is a user's broker: a publication for or by it, or an acknowledgement to it.

    It is in one broker's hands at a time; `origin` is the broker that gets it back if it finds nobody.
    """

    kind: str
    content: Sequence[int]
    origin: int


class Entry(NamedTuple):
    """A line of the ledger: a user is on a broker from now on, by a move that pays or because it had none."""

    version: int
    user: int
    broker: int
    paid: bool


# From users to brokers.


class Register(NamedTuple):
    """A user asks to be taken in: at the start, or because its broker is no more."""

    row: Row


class Publish(NamedTuple):
    """A user publishes, for the first time or again because nobody has confirmed it."""

    publication: Publication


class Received(NamedTuple):
    """A user has these messages: publishers and numbers."""

    numbers: Sequence[Sequence[int]]


class Accept(NamedTuple):
    """A user agrees to move."""

    user: int
    broker: int


class Decline(NamedTuple):
    """A user does not want to move there."""

    user: int
    broker: int


class Connect(NamedTuple):
    """A user has come to its new broker."""

    user: int
    version: int


class GiveUp(NamedTuple):
    """A user has found room nowhere, or a broker passes that on."""

    user: int


# From brokers to users.


class Registered(NamedTuple):
    """A user has been taken in."""

    version: int


class Refused(NamedTuple):
    """A broker has no room for a user."""


class Deliver(NamedTuple):
    """A publication for a user."""

    publication: Publication


class Settled(NamedTuple):
    """Everybody who should have a user's publications of these numbers has them."""

    numbers: Sequence[int]


class Returned(NamedTuple):
    """A publication came to a broker that the user has left too long ago: publish it at the new one."""

    publication: Publication


class RequestToMove(NamedTuple):
    """A broker asks a user to move to another, for so much less cost."""

    broker: int
    gain: float


class ConnectTo(NamedTuple):
    """A broker tells a user where to connect now."""

    broker: int
    version: int


# Between brokers.


class Summarize(NamedTuple):
    """The users of a broker, at the start."""

    rows: Sequence[Row]


class Located(NamedTuple):
    """A user is on a broker: what summaries say when one user has moved."""

    user: int
    broker: int
    version: int


class Carry(NamedTuple):
    """A publication on its way along a tree."""

    publication: Publication
    origin: int
    branch: Branch


class Acknowledge(NamedTuple):
    """Users have publications: publisher, number and receiver of each."""

    origin: int
    numbers: Sequence[Sequence[int]]


class Redirect(NamedTuple):
    """A parcel for a user that has moved to you."""

    user: int
    parcel: Parcel


class Bounce(NamedTuple):
    """A parcel for a user that is not here; it is, or was lately, elsewhere."""

    user: int
    parcel: Parcel
    broker: int
    version: int


class Replicate(NamedTuple):
    """A user is about to move to you, by this line of the ledger."""

    user: int
    version: int


class Replicated(NamedTuple):
    """The line has come to me, and the user may."""

    user: int
    version: int


class HandOver(NamedTuple):
    """The user has been sent to you, with its unsettled publications: number, channel and who lacks it."""

    user: int
    unsettled: Sequence[tuple[int, int, Sequence[int]]]


class Baton(NamedTuple):
    """The right to write in the ledger, with its latest lines; `quiet` brokers in a row had nothing to do."""

    turn: int
    generation: int
    start: int
    entries: Sequence[Entry]
    quiet: int


class Census(NamedTuple):
    """What a broker knows of baton and ledger when it has heard that another is dead."""

    dead: Sequence[int]
    turn: int
    sent_turn: int
    sent_to: int
    stopped: bool
    generation: int
    entries: Sequence[Entry]


Message: TypeAlias = (
    Register | Publish | Received | Accept | Decline | Connect | GiveUp | Registered | Refused | Deliver
    | Settled | Returned | RequestToMove | ConnectTo | Summarize | Located | Carry | Acknowledge | Redirect
    | Bounce | Replicate | Replicated | HandOver | Baton | Census
)  # fmt: skip


VERBS: dict[str, Any] = {verb.__name__: verb for verb in get_args(Message)}


def written(sender: int, message: Message) -> bytes:
    """Return a message as bytes.

    >>> written(3, Accept(user=7, broker=1))
    b'[3,"Accept",7,1]'
    """
    return json.dumps([sender, type(message).__name__, *message], separators=(",", ":")).encode()


def read(letter: bytes) -> tuple[int, Message]:
    """Return a message and its sender.

    >>> read(written(3, Publish(Publication(1, 2, 3, 4))))
    (3, Publish(publication=Publication(publisher=1, number=2, channel=3, below=4)))
    """
    sender, name, *parts = json.loads(letter)
    verb = VERBS[name]
    whole = [_restored(field, part) for field, part in zip(verb._fields, parts, strict=True)]
    return sender, verb(*whole)


def _restored(field: str, part: Any) -> Any:
    """Give back the parts that are tuples with names: JSON only knows lists."""
    if field == "publication":
        return Publication(*part)
    if field == "row":
        return Row(*part)
    if field == "parcel":
        return Parcel(*part)
    if field == "branch":
        return _branch(part)
    return part


def _branch(part: Any) -> Branch:
    broker, targets, branches = part
    return Branch(broker, targets, [_branch(each) for each in branches])
