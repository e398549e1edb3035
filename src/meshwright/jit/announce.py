"""Compilation, as callers see it: an announcement, a clock that stands still, and limited memory.

One listener takes numba's own events. Importing this module does not import numba.

With a limited address space, as by `ulimit -v`, we refuse what does not fit before a library fails badly.
Some libraries do not raise an error if there is no memory: OpenBLAS tries again for ever while it is loaded,
Arrow waits for a thread that could not start, and LLVM aborts the process. So with too low a limit they are
not loaded at all.

`_Watch` hooks into imports because no line of ours stands before them: libraries import each other, and how
much room is needed depends on those that a command comes to. So a command that loads few of them still works
under a limit that is too low for others.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from meshwright.errors import AddressSpaceError

QUIET = "MESHWRIGHT_QUIET"
"""With any value in this variable of the environment, Python compiles without a word."""
USUAL_SECONDS = 15
"""About how long the first run of a kind of command compiles."""


@contextmanager
def announce(callback: Callable[[str], None], *, own_process: bool = False) -> Iterator[None]:
    """Call `callback` with one line of text when the first kernel is compiled inside the `with` block.

    Where nobody asked, the first kernel of a process is announced on stderr, unless `QUIET` is set. Kernels
    that are loaded from the cache are not announced. The callback runs before the compiler does, in the
    thread that needs the kernel. `own_process` says that this process runs no kernels but ours, so that numba
    can start faster.

    >>> import meshwright as mw
    >>> from meshwright.jit.announce import announce
    >>> with announce(lambda line: None):
    ...     plan = mw.design(mw.Interest.from_dict({"a": {"x"}, "b": {"x"}}))
    """
    _listener.callbacks.append(callback)
    _listener.own_process |= own_process
    try:
        yield
    finally:
        with suppress(ValueError):  # it was called already
            _listener.callbacks.remove(callback)


def tell() -> None:
    """Tell callers now that kernels are compiled: another process does it, and this one waits."""
    _listener.announce()


def working_seconds() -> float:
    """Return elapsed seconds, excluding compilation: numba compiling kernels or loading them from the cache.

    Differences between two calls say how long the work between them took. The first call imports numba, so
    that no difference includes the import.
    """
    if not _listener.listening:
        from meshwright.jit import compiler  # noqa: F401  (it registers the listener)
    return time.perf_counter() - _listener.seconds()


class Clock:
    """A limit of seconds from now, without compilation; None is no limit.

    >>> Clock().allows(5.0), Clock(0.0).allows(0.0), Clock(0.0).struck
    (True, False, True)
    """

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds, self.began = seconds, working_seconds()
        self.reserved = 0.0
        """Seconds to keep for what follows."""

    @property
    def gone(self) -> float:
        """The seconds so far."""
        return working_seconds() - self.began

    @property
    def left(self) -> float:
        """The remaining seconds, at least 0."""
        return math.inf if self.seconds is None else max(0.0, self.seconds - self.gone)

    @property
    def struck(self) -> bool:
        """Whether the time is up."""
        return self.left == 0.0

    def allows(self, seconds: float) -> bool:
        """Return whether there is time for something that takes this long."""
        return self.seconds is None or self.gone + seconds + self.reserved < self.seconds


class _Listener:
    """Counts the seconds during which any thread compiles, loads, or waits for a thread that does."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[str], None]] = []
        """Those who have not been called yet."""
        self.told = False
        """Whether anybody knows that kernels are compiled."""
        self.own_process = False
        """Whether this process runs no kernels but ours."""
        self.listening = False
        """Whether numba sends its events."""
        self._lock = threading.Lock()
        self._depth = 0
        self._since = 0.0
        self._total = 0.0

    def notify(self, event: Any) -> None:
        """Take an event of numba: a kernel is compiled, or the lock around compiling and loading is taken.

        The lock's events come from all threads and are nested. The time counts once.
        """
        if event.kind == "numba:compile":
            if event.is_start:
                require_room(ROOM_TO_COMPILE)
                self.announce()
            return
        with self._lock:
            if event.is_start:
                if self._depth == 0:
                    self._since = time.perf_counter()
                self._depth += 1
            elif self._depth > 0:
                self._depth -= 1
                if self._depth == 0:
                    self._total += time.perf_counter() - self._since

    def seconds(self) -> float:
        """Return the seconds so far."""
        # Nothing is compiled now, which needs no lock: the total is of any time from here to its reading.
        if not self._depth:
            return self._total
        with self._lock:
            return self._total + (time.perf_counter() - self._since if self._depth else 0.0)

    def announce(self) -> None:
        """Call the callbacks, each once; without any so far, write the line on stderr."""
        from meshwright.jit import cache

        line = (
            f"compiling kernels, first run of this kind only (about {USUAL_SECONDS} s)"
            if cache.lasting_folder() is not None
            else "compiling kernels, as in every run: set NUMBA_CACHE_DIR to a folder that can be written"
        )
        if not self.callbacks and not self.told and not os.environ.get(QUIET):
            print(f"meshwright: {line}; {QUIET}=1 turns this line off", file=sys.stderr)
        self.told = True
        while self.callbacks:
            self.callbacks.pop()(line)


_listener = _Listener()


def listen() -> None:
    """Register the listener with numba."""
    from numba.core import event

    if _listener.own_process:
        _load_arrays_without_blas()

    event.Listener.register(_Listener)  # numba accepts its own class only; that one needs numba imported
    for kind in ("numba:compile", "numba:compiler_lock"):
        event.register(kind, _listener)  # type: ignore[no-untyped-call]
    _listener.listening = True


def _load_arrays_without_blas() -> None:
    """Load numba's arrays without looking for BLAS: that imports `scipy.linalg`, and no kernel uses it."""
    if "scipy.linalg" in sys.modules:
        return
    sys.modules["scipy.linalg"] = None  # type: ignore[assignment]  # an import of it fails
    try:
        import_module("numba.np.arraymath")
    finally:
        del sys.modules["scipy.linalg"]


MEGABYTE = 1_000_000
LEAST = {"numpy": 500, "pyarrow": 500, "llvmlite": 1_000, "scipy.linalg": 1_000}
"""Megabytes that the limit must have for a library to be loaded. With all of them, a process has about 620;
the rest is for threads, for compiling kernels and for data."""
ROOM_TO_COMPILE = 200
"""Megabytes that must be free before a kernel is compiled: the largest ones took 110."""
ARENA_MAX = -8
"""The parameter of `mallopt` that limits the number of memory pools; each reserves 64 MB for one thread."""


def memory_limit() -> int | None:
    """Return the limit of this process in bytes, or None if there is none."""
    try:
        import resource
    except ImportError:  # not on this system
        return None
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if soft == resource.RLIM_INFINITY else soft


FRUGAL = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Settings of libraries: each thread of OpenBLAS has buffers, and Arrow's own pools reserve a gigabyte."""


def limit_memory() -> None:
    """Use little address space from now on in this process, if it is limited, and watch what is loaded.

    Call it before numpy is imported.
    """
    if memory_limit() is None:
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
    most = memory_limit()
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
    most = memory_limit()
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
