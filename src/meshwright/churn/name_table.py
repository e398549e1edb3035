"""Names and their numbers, while both come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from meshwright.errors import InputError, first_five

if TYPE_CHECKING:
    from collections.abc import Iterable

    from meshwright.names import Name


class NameTable:
    """A number for each name. The number of a name that is removed is the next to be reused."""

    def __init__(self, names: pa.Array, what: str) -> None:
        self.what, self.kind = what, str if pa.types.is_string(names.type) else int
        self.names: list[Name | None] = names.to_pylist()
        self.numbers: dict[Name, int] = {name: i for i, name in enumerate(self.names) if name is not None}
        self.unused: list[int] = []

    def __len__(self) -> int:
        return len(self.numbers)

    def copy(self) -> NameTable:
        """Return a table with the same names and numbers."""
        other = NameTable.__new__(NameTable)
        other.what, other.kind = self.what, self.kind
        other.names, other.numbers, other.unused = list(self.names), dict(self.numbers), list(self.unused)
        return other

    def add(self, name: Name) -> int:
        """Add a new name, and return its number."""
        if self.unused:
            number = self.unused.pop()
            self.names[number] = name
        else:
            number = len(self.names)
            self.names.append(name)
        self.numbers[name] = number
        return number

    def remove(self, name: Name) -> None:
        """Remove a name."""
        number = self.numbers.pop(name)
        self.names[number] = None
        self.unused.append(number)

    def find(self, names: Iterable[Name]) -> list[int]:
        """Return the numbers of names.

        Raises
        ------
        InputError
            If a name is unknown.
        """
        try:
            return [self.numbers[name] for name in names]
        except (KeyError, TypeError):
            unknown = [name for name in names if name not in self.numbers]
            raise InputError(
                f"no {self.what} {first_five(unknown)} among the {len(self)} {self.what}s: check the spelling"
            ) from None

    def check_new(self, name: Name) -> None:
        """Reject a name of another type than the others, and a blank one."""
        good = isinstance(name, self.kind) and not isinstance(name, bool)
        if not good and (self.numbers or not isinstance(name, (str, int))):
            kind = "strings" if self.kind is str else "integers"
            raise InputError(f"{self.what} {name!r}: the names of {self.what}s are {kind} here")
        if isinstance(name, str) and not name.strip():
            raise InputError(f"a {self.what} without a name: give it one")

    def sorted(self) -> tuple[pa.Array, list[int]]:
        """Return the names in order, and the number of each."""
        ordered = sorted(self.numbers.items(), key=lambda item: _sort_key(item[0]))
        kind = pa.string() if self.kind is str else pa.int64()
        return pa.array([name for name, _ in ordered], kind), [number for _, number in ordered]


def _sort_key(name: Name) -> tuple[str, int]:
    return (name, 0) if isinstance(name, str) else ("", name)
