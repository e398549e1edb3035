"""Check before long work that its result can be written."""

from __future__ import annotations

from pathlib import Path


def check_target(path: str | Path, kind: str) -> None:
    """Raise an OutputError if a folder of this kind cannot be written to a path or URL."""
    from meshwright.files.atomic import check_free, check_place
    from meshwright.files.header import KINDS
    from meshwright.files.remote import check_bucket, check_remote_place
    from meshwright.files.urls import local_path

    local, wanted = local_path(path), next(known for known in KINDS if known.name == kind)
    if local is not None:
        check_free(Path(local), wanted)
        check_place(path)
    elif kind == "dataset":
        check_bucket(str(path))  # a dataset that is only half written may be replaced
    else:
        check_remote_place(str(path), wanted)
