"""A limited address space: what does not fit is refused in one line, and without a limit nothing happens."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import threading
import warnings

import pytest

from meshwright.errors import AddressSpaceError
from meshwright.jit import announce
from meshwright.jit.announce import FRUGAL, LEAST, MEGABYTE, require_limit, require_room


def limited(monkeypatch: pytest.MonkeyPatch, megabytes: int | None) -> None:
    """Let the limit seem to be this."""
    limit = None if megabytes is None else megabytes * MEGABYTE
    monkeypatch.setattr(announce, "memory_limit", lambda: limit)


def test_too_low_a_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit below what a library needs is an error; exactly that, more, or none is fine."""
    for megabytes in (500, 501, None):
        limited(monkeypatch, megabytes)
        require_limit(500)
    limited(monkeypatch, 499)
    with pytest.raises(AddressSpaceError, match="500 MB"):
        require_limit(500)


def test_room_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room is asked for and given back; if there is none, the error says how much more is needed."""
    asked = []

    class Memory:
        def __init__(self, number: int, size: int, flags: int) -> None:
            asked.append((number, size, flags))
            if size > 10 * MEGABYTE:
                raise OSError("no memory")

        def close(self) -> None:
            asked.append("closed")  # type: ignore[arg-type]

    monkeypatch.setattr(mmap, "mmap", Memory)
    limited(monkeypatch, None)
    require_room(11)
    assert asked == []
    limited(monkeypatch, 1000)
    require_room(10)
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    assert asked == [(-1, 10 * MEGABYTE, private), "closed"]
    with pytest.raises(AddressSpaceError, match="11 MB more"):
        require_room(11)


def test_only_a_limited_process_is_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit, libraries are frugal and watched before they are imported; what the user set stays."""
    options: list[tuple[int, int]] = []
    library = type("Library", (), {"mallopt": lambda self, *given: options.append(given)})
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library())
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    for name in FRUGAL:
        monkeypatch.setenv(name, "")  # so that it is as before in the end
        monkeypatch.delenv(name)
    before = len(sys.meta_path)
    limited(monkeypatch, None)
    announce.limit_memory()
    assert len(sys.meta_path) == before
    assert not FRUGAL.keys() & os.environ.keys()
    limited(monkeypatch, 600)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    with warnings.catch_warnings():
        announce.limit_memory()
        warnings.warn("unseen", stacklevel=1)
    assert {name: os.environ[name] for name in FRUGAL} == FRUGAL | {"OMP_NUM_THREADS": "7"}
    assert options == [(announce.ARENA_MAX, 1)] * sys.platform.startswith("linux")
    watch = sys.meta_path[0]
    assert watch.find_spec("json", None) is None
    assert watch.find_spec("numpy", None) is None
    with pytest.raises(AddressSpaceError, match="1,000 MB"):
        watch.find_spec("llvmlite", None)
    assert set(LEAST) == {"numpy", "pyarrow", "llvmlite", "scipy.linalg"}
