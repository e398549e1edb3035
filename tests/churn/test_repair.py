"""Policies: invalid parameters are rejected."""

from __future__ import annotations

import pytest

from meshwright.churn import Policy
from meshwright.errors import InputError


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "magic"}, "naive, shadow, tidy, rebuild"),
        ({"backups": "none"}, "primal-dual, greedy"),
        ({"coverage": 0}, "coverage"),
        ({"rho": 0.5}, "at least 1"),
        ({"window": 0}, "window"),
        ({"moves": -1}, "moves"),
    ],
)
def test_invalid_parameters_are_rejected(given: dict[str, object], message: str) -> None:
    """An invalid parameter is rejected, and the message names it or the valid choices."""
    with pytest.raises(InputError, match=message):
        Policy(**given)  # type: ignore[arg-type]
