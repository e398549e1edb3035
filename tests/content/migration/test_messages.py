"""Every message survives its JSON form."""

from __future__ import annotations

from typing import Any

from meshwright.content.migration import messages
from meshwright.content.migration.messages import (
    MESSAGE_TYPES,
    Branch,
    Envelope,
    Message,
    Publication,
    UserProfile,
    decode,
    encode,
    stored_name,
)

PROFILE = UserProfile(3, [0, 2], [1], [0.1], [1.5, 2.5])
PUBLICATION = Publication(3, 5, 1, 4)
FIELDS: dict[str, Any] = {
    "profile": PROFILE,
    "profiles": [list(PROFILE)],
    "publication": PUBLICATION,
    "envelope": Envelope("delivery", [3, 5, 1, 4], 0),
    "branch": Branch(0, [1, 2], [Branch(1, [], [Branch(2, [7], [])])]),
}


def test_every_message_survives_json() -> None:
    """Decoding returns the message that was encoded, with the types of its parts."""
    assert len(MESSAGE_TYPES) == 25
    for kind in MESSAGE_TYPES.values():
        message: Message = kind(*(FIELDS.get(field, [1, [2, 3]]) for field in kind._fields))
        decoded = decode(encode(9, message))
        assert decoded == (9, message)
        assert type(decoded[1]) is kind
        for before, after in zip(message, decoded[1], strict=True):
            assert type(before) is type(after)
    carried = decode(encode(1, messages.Carry(PUBLICATION, 0, FIELDS["branch"])))[1]
    assert isinstance(carried, messages.Carry)
    assert carried.branch.branches[0].branches[0].users == [7]
    assert carried.publication.channel == 1


def test_stored_names() -> None:
    """The names in stored figures are the paper's, and stay as they are in files already written."""
    names = {stored_name(kind) for kind in MESSAGE_TYPES.values()}
    paper = {"register", "summarize", "request_to_move", "accept", "decline", "replicate", "connect"}
    ours = {
        *("publish", "received", "give_up", "registered", "refused", "deliver", "settled", "returned"),
        *("connect_to", "located", "carry", "acknowledge", "bounce", "replicated", "hand_over"),
        *("baton", "census"),
    }
    assert names == paper | ours | {"redirect"}
