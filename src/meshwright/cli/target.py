"""Where a command will write: looked at before long work, so that an hour is not spent for nothing."""

from __future__ import annotations

import os
from pathlib import Path


def check_target(path: Path, kind: str) -> None:
    """Refuse a place where a folder of this kind could not be written at the end."""
    from meshwright.errors import OutputError
    from meshwright.store.header import CHURN, DATASET, PLAN, holds

    known = {each.name: each for each in (DATASET, PLAN, CHURN)}
    if path.is_dir() and any(path.iterdir()) and not holds(path, known[kind]):
        raise OutputError(f"{path} holds something else than a {kind}: choose another place, or empty it")
    if path.exists() and not path.is_dir():
        raise OutputError(f"{path} is a file, and a {kind} is a folder: choose another place")
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if not above.is_dir():
        raise OutputError(f"cannot write {path}: {above} is a file; choose another place")
    if not os.access(above, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write {path}: no permission to write in {above}; choose another place")
