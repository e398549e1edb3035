"""Messages as JSON, for transports that carry bytes."""

from __future__ import annotations

import json
from typing import Any, get_args

from meshwright.content.migration import verbs
from meshwright.content.migration.verbs import Branch, Message, Parcel, Publication, Row

VERBS: dict[str, Any] = {verb.__name__: verb for verb in get_args(verbs.Message)}


def written(sender: int, message: Message) -> bytes:
    """Return a message as bytes.

    >>> written(3, verbs.Accept(user=7, broker=1))
    b'[3,"Accept",7,1]'
    """
    return json.dumps([sender, type(message).__name__, *message], separators=(",", ":")).encode()


def read(letter: bytes) -> tuple[int, Message]:
    """Return a message and its sender.

    >>> read(written(3, verbs.Publish(Publication(1, 2, 3, 4))))
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
