"""Defaults of public functions are part of what callers rely on: none changes by accident.

`python tests/test_defaults.py` records them again after a deliberate change, which the changelog names.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import meshwright
from meshwright.designs.registry import DESIGNS

RECORD = Path(__file__).parent / "defaults.txt"
SOURCE = Path(meshwright.__file__).parent
ROOMS = [file.parent for file in sorted(SOURCE.rglob("__init__.py")) if "__all__" in file.read_text("utf-8")]
FURTHER = ("pipeline.readers.formats.Reading", "pipeline.dataset.publications.Publications")
"""Classes that callers of public functions make, and that no room lists."""


def public_defaults() -> list[str]:
    """Return a line for each public function, class, method or design that has defaults."""
    lines: dict[str, None] = {}
    for room in ROOMS:
        package = import_module(".".join(room.relative_to(SOURCE.parent).parts))
        for name in getattr(package, "__all__", ()):
            thing = getattr(package, name)
            if (getattr(thing, "__module__", None) or "").startswith("meshwright"):
                lines |= dict.fromkeys(_lines_of(thing))
    for place in (*FURTHER, *(f"designs.{design.function}" for design in DESIGNS.values())):
        module, _, name = place.rpartition(".")
        lines |= dict.fromkeys(_lines_of(getattr(import_module(f"meshwright.{module}"), name)))
    return sorted(lines)


def _lines_of(thing: Any) -> Iterator[str]:
    """Yield the line of a function, or those of a class and its public methods."""
    parts = [thing]
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return
    if inspect.isclass(thing):
        parts += [part for name, part in vars(thing).items() if not name.startswith("_")]
    for part in parts:
        function = getattr(part, "__func__", part)
        if inspect.isclass(function) or inspect.isfunction(function):
            given = inspect.signature(function).parameters.values()
            known = [
                f"{each.name}={_spell(each.default)}" for each in given if each.default is not each.empty
            ]
            if known:
                yield f"{function.__module__}.{function.__qualname__}: {', '.join(known)}"


def _spell(default: Any) -> str:
    """Spell a default without addresses of objects."""
    return re.sub(r" at 0x\w+", "", getattr(default, "__qualname__", repr(default)))


def test_defaults_are_those_that_were_recorded() -> None:
    """A public function that is called without options does the same as before."""
    assert public_defaults() == RECORD.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    RECORD.write_text("".join(f"{line}\n" for line in public_defaults()), encoding="utf-8")
