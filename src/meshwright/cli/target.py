"""Where a command will write: looked at before long work, so that an hour is not spent for nothing."""

from __future__ import annotations

from pathlib import Path


def check_target(path: Path, kind: str) -> None:
    """Refuse a place where a folder of that kind could not be written at the end."""
    from meshwright.store.atomic import check_free
    from meshwright.store.header import KINDS
    from meshwright.writing import check_place

    check_free(path, next(known for known in KINDS if known.name == kind))
    check_place(path)
