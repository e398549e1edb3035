"""Errors: each message says in one line what is wrong, which items, and how to fix it.

Every error is a `MeshwrightError` and also the builtin that fits, so callers may catch either.
"""

from collections.abc import Iterable

from meshwright.formatting import hide_secrets


class MeshwrightError(Exception):
    """Root of every error that Meshwright raises on purpose: one line that says what to do.

    >>> import meshwright as mw
    >>> try:
    ...     mw.design({"a": {"x"}}, "gn")
    ... except mw.MeshwrightError as error:
    ...     str(error).partition(":")[0]
    "no algorithm 'gn'"
    """

    def __str__(self) -> str:
        """Return the line, without secrets of URLs."""
        return hide_secrets(super().__str__())


class InputError(MeshwrightError, ValueError):
    """Data or a parameter that cannot be used."""


class GoesOnError(MeshwrightError):
    """The command was interrupted, and what it asked for goes on in another process."""


class EmptySourceError(InputError):
    """A source without subscriptions: there is nothing to answer, which is no mistake."""

    def __init__(self, source: str, remedy: str = "name one that has some") -> None:
        super().__init__(f"{source} has no subscriptions: {remedy}")
        self.source = source


class FormatError(MeshwrightError, ValueError):
    """A file or folder that is not what it should be: another kind, a newer schema, damaged."""


class MissingDependencyError(MeshwrightError, ImportError):
    """A feature whose optional package is not installed."""


class ClusterError(MeshwrightError, RuntimeError):
    """A Spark cluster that does not answer, does not fit, or fails."""


class OutputError(MeshwrightError, OSError):
    """A place that cannot be written."""


class LockedError(MeshwrightError, RuntimeError):
    """Something that another run is changing right now."""


class AddressSpaceError(MeshwrightError, MemoryError):
    """A limit of the address space, as by `ulimit -v`, that is too low for the libraries that are needed."""

    def __init__(self, limit: int, needed: str) -> None:
        super().__init__(
            f"out of memory: the address space is limited to {limit / 1e6:,.0f} MB, and {needed} are needed: "
            "raise the limit with ulimit -v"
        )


LONGEST = 200
"""The most letters of a name in a message: a name may have 65,535 bytes."""


def first_five(items: Iterable[object], found: int | None = None) -> str:
    """Name the first five items, and how many more there are; `found` counts them if not all are given.

    >>> first_five(["a", "b"])
    "'a', 'b'"
    >>> first_five(range(8))
    '0, 1, 2, 3, 4 and 3 more'
    >>> first_five(range(5), found=7)
    '0, 1, 2, 3, 4 and 2 more'
    >>> len(first_five(["x" * 5000]))
    200
    """
    listed = list(items)
    found = len(listed) if found is None else found
    more = f" and {found - 5} more" if found > 5 else ""
    named = (repr(item) for item in listed[:5])
    return ", ".join(name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…" for name in named) + more


def first_rows(positions: Iterable[int]) -> str:
    """Name rows by their numbers from 1: the first five.

    >>> first_rows([0]), first_rows([1, 2])
    ('row 1', 'rows 2, 3')
    """
    numbers = [int(position) + 1 for position in positions]
    return f"{'row' if len(numbers) == 1 else 'rows'} {first_five(numbers)}"
