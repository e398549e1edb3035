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
    """Turn errors while writing into one line that names the path.

    Raises
    ------
    OutputError
        If the path cannot be written.
    """
    try:
        yield
    except MeshwrightError:
        raise
    except OSError as error:
        raise OutputError(
            f"cannot write {path}: {error.strerror or error}; choose another path, or free some space"
        ) from error


@contextmanager
def new_file(path: str | Path) -> Iterator[Path]:
    """Yield a path to write to; on success that file replaces `path`, on any error it is removed.

    The temporary file is hidden, in the same folder, with the same suffix. If `path` is not a regular file,
    such as /dev/stdout, it is yielded itself.

    Raises
    ------
    OutputError
        If the path cannot be written.
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
    """Check before long work that its result can be written to a path.

    Missing parent folders are fine: the writer makes them.

    Raises
    ------
    OutputError
        If the path cannot be written.
    """
    above = next(folder for folder in Path(path).absolute().parents if folder.exists())
    if not above.is_dir():
        raise OutputError(f"cannot write {path}: {above} is a file; choose another path")
    try:
        with tempfile.TemporaryFile(dir=above):  # permissions alone are not conclusive
            pass
    except OSError as error:
        raise OutputError(
            f"cannot write {path}: {error.strerror or error}, in {above}; choose another path"
        ) from error
