"""Rooms that are also a function: `mw.verify(plan)` checks a plan, and `mw.verify` has everything else of it.

Python puts a package's sub-packages among its names. So `meshwright.verify` is the room, whatever else
`meshwright` defines, and the room itself must be what can be called.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class CallableRoom(ModuleType):
    """A module that can be called like one function, which is imported when that happens."""

    called: str
    """The module and the name of the function."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function of the room."""
        module, _, name = self.called.rpartition(".")
        return getattr(import_module(module), name)(*arguments, **named)


def make_callable(room: str, function: str) -> None:
    """Let the room of this name, which is being imported, be called like a function."""
    module = sys.modules[room]
    module.__class__ = CallableRoom
    module.called = function  # type: ignore[attr-defined]
