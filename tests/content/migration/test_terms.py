"""Terms outside their range are rejected with one clear line."""

from __future__ import annotations

from typing import Any

import pytest

from meshwright.content.migration import Crash, CrashAt, Terms
from meshwright.errors import InputError


@pytest.mark.parametrize(
    ("terms", "complaint"),
    [
        ({"decline": 1.5}, "probability 1.5: give 0 to 1"),
        ({"decline": -0.1}, "probability -0.1: give 0 to 1"),
        ({"publications": -1}, "-1 publications: give 0 or more"),
        ({"requests": 0}, "0 requests at a time: give 1 or more"),
        ({"delay": (0.2, 0.1)}, r"delays from 0\.2 to 0\.1 seconds: give two numbers in ascending order"),
        ({"delay": (-0.1, 0.1)}, r"delays from -0\.1 to 0\.1 seconds"),
        ({"seconds": float("inf")}, "seconds of inf seconds: give 0 or more"),
        ({"seconds": float("nan")}, "seconds of nan seconds: give 0 or more"),
        ({"ttl": -1.0}, r"ttl of -1\.0 seconds: give 0 or more"),
        ({"gather": -1.0}, r"gather of -1\.0 seconds: give 0 or more"),
        ({"pause": 0.0}, r"pause of 0\.0 seconds: give more than 0"),
        ({"patience": 0.0}, r"patience of 0\.0 seconds: give more than 0"),
        ({"limit": -1.0}, r"limit of -1\.0 seconds: give more than 0"),
        ({"crashes": (Crash(1), Crash(1, "abroad"))}, "side 'abroad' of a replicate: choose home or foreign"),
    ],
)
def test_bad_terms(terms: dict[str, Any], complaint: str) -> None:
    """Each term outside its range is named, with the range."""
    with pytest.raises(InputError, match=complaint):
        Terms(**terms)


def test_bounds_are_allowed() -> None:
    """The ends of each range are valid."""
    Terms(publications=0, seconds=0.0, ttl=0.0, gather=0.0, delay=(0.0, 0.0), requests=1, decline=0.0)
    Terms(decline=1.0, crashes=(Crash(1, "home"), Crash(2, "foreign"), CrashAt(0.0, 0)))
