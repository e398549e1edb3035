"""Terms and calls that cannot be are refused, each with one clear line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from meshwright.content import synthetic
from meshwright.content.migration import Crash, CrashAt, Terms, migrate
from meshwright.errors import InputError


@pytest.mark.parametrize(
    ("terms", "complaint"),
    [
        ({"decline": 1.5}, "probability 1.5: give 0 to 1"),
        ({"publications": -1}, "-1 publications"),
        ({"requests": 0}, "0 requests at a time"),
        ({"delay": (0.2, 0.1)}, "delays from 0.2 to 0.1 seconds"),
        ({"ttl": -1.0}, "ttl of -1.0 seconds: give zero or more"),
        ({"patience": 0.0}, "patience of 0.0 seconds: give more than zero"),
        ({"crashes": (Crash(1, "abroad"),)}, "choose home or foreign"),
    ],
)
def test_terms_are_checked(terms: dict[str, Any], complaint: str) -> None:
    """Each term has its range."""
    with pytest.raises(InputError, match=complaint):
        Terms(**terms)


def test_calls_are_checked() -> None:
    """An overloaded broker, a broker that is not there, and an unknown transport are refused."""
    workload = synthetic(20, 4, 5)
    with pytest.raises(InputError, match="more users than it can carry"):
        migrate(workload, np.zeros(20, int))
    spread = np.arange(20) % 4
    with pytest.raises(InputError, match="no broker 4 to crash: there are 0 to 3"):
        migrate(workload, spread, Terms(crashes=(CrashAt(1.0, 4),)))
    with pytest.raises(InputError, match="choose asyncio or mosquitto"):
        migrate(workload, spread, transport="pigeons")
    with pytest.raises(InputError, match="19 brokers for 20 users"):
        migrate(workload, spread[1:])
