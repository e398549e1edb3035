"""numba's cache on disk, shared by processes that start at the same time."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Any

from numba.core.caching import FunctionCache

from meshwright.jit import announce

MOST_SECONDS = 120.0
"""How long a process waits for another one that compiles the same kernel."""
PAUSE = 0.05


class SharedCache(FunctionCache):
    """The compiled code of a kernel; of all processes that need it, one compiles, and the others wait."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._turn: int | None = None
        """The lock file, as long as it is our turn to compile."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature, or None: then the caller compiles it."""
        found = self.load(sig, target_context)
        if found is None and self._take_turn():
            # Another process may have compiled it while we waited.
            found = self.load(sig, target_context)
            if found is not None:
                self._end_turn()
        return found

    def load(self, sig: Any, target_context: Any) -> Any:
        """Return what the disk holds for a signature, or None."""
        return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code, and let the others load it."""
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        finally:
            self._end_turn()

    def _take_turn(self) -> bool:
        """Wait until no other process compiles this kernel; return whether locks work here."""
        if self._turn is not None:  # an earlier compilation failed
            return True
        try:
            import fcntl

            name = os.path.join(self._cache_path, f"{self._impl.filename_base}.lock")  # noqa: PTH118
            turn = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except (ImportError, OSError):
            return False
        until = time.monotonic() + MOST_SECONDS
        while True:
            try:
                fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until:
                    break
                announce.tell()
                time.sleep(PAUSE)
            except OSError:
                break
            else:
                self._turn = turn
                return True
        os.close(turn)
        return False

    def _end_turn(self) -> None:
        """Let the next process look into the cache."""
        if self._turn is not None:
            import fcntl

            with suppress(OSError):
                fcntl.flock(self._turn, fcntl.LOCK_UN)  # a fork may hold the file open
            os.close(self._turn)
            self._turn = None


class KernelCache(SharedCache):
    """The same with a quick way to load, for kernels without reference counts.

    Before it loads a kernel, numba imports everything that a compiler needs: a quarter of the time that a
    small plan takes. It sets up its reference counts on the way. Kernels without them need none of this, and
    the compiler imports it by itself.
    """

    def load(self, sig: Any, target_context: Any) -> Any:
        """Return what the disk holds for a signature, or None."""
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
