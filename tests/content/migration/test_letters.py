"""Messages as JSON."""

from __future__ import annotations

from typing import Any

from meshwright.content.migration import messages
from meshwright.content.migration.messages import (
    VERBS,
    Branch,
    Message,
    Parcel,
    Publication,
    Row,
    read,
    written,
)

ROW = Row(3, [0, 2], [1], [0.1], [1.5, 2.5])
SENT = Publication(3, 5, 1, 4)
FIELDS: dict[str, Any] = {
    "row": ROW,
    "rows": [list(ROW)],
    "publication": SENT,
    "parcel": Parcel("delivery", [3, 5, 1, 4], 0),
    "branch": Branch(0, [1, 2], [Branch(1, [], [Branch(2, [7], [])])]),
}


def test_every_verb_survives_the_post() -> None:
    """What is read is what was written, for every verb."""
    assert len(VERBS) == 25
    for verb in VERBS.values():
        message: Message = verb(*(FIELDS.get(field, [1, [2, 3]]) for field in verb._fields))
        assert read(written(9, message)) == (9, message)
        assert type(read(written(9, message))[1]) is verb
    carried = read(written(1, messages.Carry(SENT, 0, FIELDS["branch"])))[1]
    assert isinstance(carried, messages.Carry)
    assert carried.branch.branches[0].branches[0].targets == [7]
    assert carried.publication.channel == 1
