"""Where a chart goes: checked before any long work, written whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from meshwright.errors import InputError, MissingDependencyError, OutputError
from meshwright.writing import check_place, new_file

KINDS = (".png", ".svg", ".pdf")
"""The kinds of file that a chart can be."""

UNSTATED: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
"""Dates and version numbers would make equal pictures differ."""


def check_chart(path: str | Path) -> Path:
    """Say, before any long work, whether a chart of this name can be drawn; return it as a path."""
    path = Path(path)
    if path.suffix.lower() not in KINDS:
        raise InputError(
            f"cannot tell what kind of chart {str(path)!r} is: end its name in {' or '.join(KINDS)}"
        )
    if not path.parent.is_dir():
        raise OutputError(f"no folder {str(path.parent)!r} for the chart: make it first")
    if path.is_dir():
        raise OutputError(f"{str(path)!r} is a folder: name a file for the chart")
    check_place(path)
    check_matplotlib()
    return path


def check_matplotlib() -> None:
    """Say, before any long work, whether charts can be drawn here."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            "matplotlib is not installed: pip install 'meshwright[charts]'"
        ) from error


def save(figure: Any, path: Path) -> None:
    """Write beside the final place and rename, so that no half of a picture is ever left."""
    kind = path.suffix.lower()
    with new_file(path) as beside:
        figure.savefig(beside, format=kind[1:], metadata=UNSTATED[kind])
