"""Where a command will write: looked at before long work, so that an hour is not spent for nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path


def check_target(path: Path, kind: str) -> None:
    """Refuse a place where a folder of that kind could not be written at the end."""
    from meshwright.errors import OutputError
    from meshwright.store.atomic import check_free
    from meshwright.store.header import KINDS

    check_free(path, next(known for known in KINDS if known.name == kind))
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if not above.is_dir():
        raise OutputError(f"cannot write {path}: {above} is a file; choose another place")
    try:
        with tempfile.TemporaryFile(dir=above):
            pass
    except OSError as error:
        raise OutputError(
            f"cannot write {path}: {error.strerror or error}, in {above}; choose another place"
        ) from error
