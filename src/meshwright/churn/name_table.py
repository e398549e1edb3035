"""Names and the numbers they stand for, while both come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from meshwright.errors import InputError, first_five

if TYPE_CHECKING:
    from collections.abc import Iterable

    from meshwright.names import Name


class Names:
    """A number for each name; the number of a name that goes is the next to be given."""

    def __init__(self, names: pa.Array, what: str) -> None:
        self.what, self.kind = what, str if pa.types.is_string(names.type) else int
        self.of: list[Name | None] = names.to_pylist()
        self.number: dict[Name, int] = {name: i for i, name in enumerate(self.of) if name is not None}
        self.unused: list[int] = []

    def __len__(self) -> int:
        return len(self.number)

    def copy(self) -> Names:
        """Return the same names with the same numbers."""
        other = Names.__new__(Names)
        other.what, other.kind = self.what, self.kind
        other.of, other.number, other.unused = list(self.of), dict(self.number), list(self.unused)
        return other

    def add(self, name: Name) -> int:
        """Give a new name its number."""
        if self.unused:
            number = self.unused.pop()
            self.of[number] = name
        else:
            number = len(self.of)
            self.of.append(name)
        self.number[name] = number
        return number

    def remove(self, name: Name) -> None:
        """Forget a name."""
        number = self.number.pop(name)
        self.of[number] = None
        self.unused.append(number)

    def find(self, names: Iterable[Name]) -> list[int]:
        """Return the numbers of names, all of which must be known."""
        try:
            return [self.number[name] for name in names]
        except (KeyError, TypeError):
            unknown = [name for name in names if name not in self.number]
            raise InputError(
                f"no {self.what} {first_five(unknown)} among the {len(self)} {self.what}s: check the spelling"
            ) from None

    def check_new(self, name: Name) -> None:
        """Refuse a name that is of another kind than the others, or blank."""
        good = isinstance(name, self.kind) and not isinstance(name, bool)
        if not good and (self.number or not isinstance(name, (str, int))):
            kind = "strings" if self.kind is str else "integers"
            raise InputError(f"{self.what} {name!r}: the names of {self.what}s here are {kind}")
        if isinstance(name, str) and not name.strip():
            raise InputError(f"a {self.what} without a name: give it one")

    def sorted(self) -> tuple[pa.Array, list[int]]:
        """Return the names in order, and the number of each."""
        ordered = sorted(self.number.items(), key=lambda item: _sorting(item[0]))
        kind = pa.string() if self.kind is str else pa.int64()
        return pa.array([name for name, _ in ordered], kind), [number for _, number in ordered]


def _sorting(name: Name) -> tuple[str, int]:
    return (name, 0) if isinstance(name, str) else ("", name)
