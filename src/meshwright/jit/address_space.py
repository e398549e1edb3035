"""A limited address space, as by `ulimit -v`: refuse what does not fit, before a library fails badly.

Some libraries do not raise an error if there is no memory: OpenBLAS tries again for ever while it is loaded,
Arrow waits for a thread that could not start, and LLVM aborts the process. So with too low a limit they are
not loaded at all. Without a limit, nothing here does anything.

`_Watch` hooks into imports because no line of ours stands before them: libraries import each other, and how
much room is needed depends on those that a command comes to. So a command that loads few of them still works
under a limit that is too low for others.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import threading
import warnings
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from meshwright.errors import AddressSpaceError

MEGABYTE = 1_000_000
LEAST = {"numpy": 500, "pyarrow": 500, "llvmlite": 1_000, "scipy.linalg": 1_000}
"""Megabytes that the limit must have for a library to be loaded. With all of them, a process has about 620;
the rest is for threads, for compiling kernels and for data."""
ROOM_TO_COMPILE = 200
"""Megabytes that must be free before a kernel is compiled: the largest ones took 110."""
ARENA_MAX = -8
"""The parameter of `mallopt` that limits the number of memory pools; each reserves 64 MB for one thread."""


def limit() -> int | None:
    """Return the limit of this process in bytes, or None if there is none."""
    try:
        import resource
    except ImportError:  # not on this system
        return None
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if soft == resource.RLIM_INFINITY else soft


FRUGAL = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Settings of libraries: each thread of OpenBLAS has buffers, and Arrow's own pools reserve a gigabyte."""


def prepare() -> None:
    """Use little address space from now on in this process, if it is limited, and watch what is loaded.

    Call it before numpy is imported.
    """
    if limit() is None:
        return
    for name, value in FRUGAL.items():
        os.environ.setdefault(name, value)
    if sys.platform.startswith("linux"):
        set_option = getattr(ctypes.CDLL(None), "mallopt", None)
        if set_option is not None:
            set_option(ARENA_MAX, 1)
    # Without memory, cleaning up fails in many places; the command itself fails with one line.
    sys.unraisablehook = lambda _: None
    threading.excepthook = lambda _: None
    warnings.simplefilter("ignore")
    sys.meta_path.insert(0, _Watch())


def require_room(megabytes: int) -> None:
    """Check that this much is free, if the address space is limited.

    Raises
    ------
    AddressSpaceError
        If it is not.
    """
    most = limit()
    if most is not None:
        try:
            mmap.mmap(-1, megabytes * MEGABYTE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
        except OSError as error:
            raise AddressSpaceError(most, f"{megabytes} MB more") from error


def require_limit(megabytes: int) -> None:
    """Check that the address space has no limit, or at least this one.

    Raises
    ------
    AddressSpaceError
        If the limit is lower.
    """
    most = limit()
    if most is not None and most < megabytes * MEGABYTE:
        raise AddressSpaceError(most, f"{megabytes:,} MB")


class _Watch:
    """Finds no module, but checks before some are imported that they may be."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Check the limit for a module."""
        if name in LEAST:
            require_limit(LEAST[name])
        return None
