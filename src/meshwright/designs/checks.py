"""Checks of what is handed to a design."""

from __future__ import annotations

import numpy as np

from meshwright.errors import InputError


def check_whole(name: str, value: int, least: int = 0) -> None:
    """Refuse what is not a whole number of at least `least`."""
    if not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name} is {value}: give a whole number of {least} or more")
