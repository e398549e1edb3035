"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from meshwright.errors import MeshwrightError, OutputError


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Tell whatever goes wrong while something is written in one line that names its place.

    Raises
    ------
    OutputError
        If the place cannot be written.
    """
    try:
        yield
    except MeshwrightError:
        raise
    except OSError as error:
        raise OutputError(
            f"cannot write {path}: {error.strerror or error}; choose another place, or make room there"
        ) from error


@contextmanager
def new_file(path: str | Path) -> Iterator[Path]:
    """Give a path to write to; on leaving, that file takes the place of `path`, on any error it vanishes.

    It lies in the same folder, hidden, and ends in the same letters. What is there and is no file, such as
    /dev/stdout, is given itself.

    Raises
    ------
    OutputError
        If the place cannot be written.
    """
    with writing(path):
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            yield target
            return
        beside = target.with_name(f".writing-{uuid.uuid4().hex}{target.suffix}")
        try:
            yield beside
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)


def check_place(path: str | Path) -> None:
    """Say, before any long work, whether something can be written there at its end.

    Folders above it that are not there yet are taken to be made.

    Raises
    ------
    OutputError
        If not.
    """
    above = next(folder for folder in Path(path).absolute().parents if folder.exists())
    if not above.is_dir():
        raise OutputError(f"cannot write {path}: {above} is a file; choose another place")
    try:
        with tempfile.TemporaryFile(dir=above):  # permissions do not tell all
            pass
    except OSError as error:
        raise OutputError(
            f"cannot write {path}: {error.strerror or error}, in {above}; choose another place"
        ) from error
