"""How many nodes, topics or users a workload may have."""

from __future__ import annotations

from meshwright.errors import InputError
from meshwright.ids import MOST, is_whole


def check_count(count: int, what: str) -> None:
    """Refuse what is no whole number of at least 1, and more than ids can number."""
    if not is_whole(count):
        raise InputError(f"{count!r} {what}: give a whole number of at least 1")
    if count < 1:
        raise InputError(f"{count} {what}: give at least 1")
    if count > MOST:
        raise InputError(f"{count} {what}: at most {MOST} (2³¹ − 1) can be numbered; give fewer")
