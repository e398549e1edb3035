"""The decorators that compile kernels, and all that they change in numba: its passes and its cache on disk.

By default numba optimises every compiled function and makes machine code of it. It then links the function's
code into each caller, and optimises it there again, level by level. Python never calls the inner functions of
a kernel, so for them all but the last time is wasted. Here each kernel is optimised once, as a whole:

- `LinkOnlyCompiler` stops after LLVM code: nothing is optimised, there is no machine code, and nothing to
  cache.
- `KernelCompiler`, for what Python calls, optimises all that was linked, in numba's own passes over a whole
  library. It leaves out the passes over single functions that come before.

Both change how numba fills a *library*, the LLVM code of a function with all that it calls, and nothing else.
`KernelFlags` changes only how fast numba compares its settings. `SharedCache` is numba's cache on disk, for
processes that start at the same time: one compiles, and the others wait for it.

All private parts of numba that this package relies on are used here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags

from meshwright.jit import announce, cache

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


class KernelLibrary(JITCodeLibrary):
    """A library that is optimised once, when all code is linked."""

    def _optimize_functions(self, module: Any) -> None:
        """Prepare a function's code for linking; numba optimises it here."""
        module.data_layout = self._codegen._data_layout


class LinkOnlyLibrary(KernelLibrary):
    """A library that only serves to be linked into others."""

    def _optimize_final_module(self) -> None:
        """Leave the code to the libraries that link it."""

    def _finalize_final_module(self) -> None:
        """Accept no more code; numba makes machine code here."""
        self._finalized = True


class KernelFlags(Flags):
    """numba's flags, with quick comparisons.

    For every operator that numba types, it looks dozens of implementations up by the flags, and compares them
    option by option each time: a tenth of all compiling. Flags with the same settings are equal at once here;
    all others are compared as before.
    """

    __slots__ = ()

    def __hash__(self) -> int:
        """Return the same as numba's flags: a hash of the options' names."""
        return NAMES_OF_OPTIONS

    def __eq__(self, other: object) -> bool:
        """Return whether all options have the same values."""
        same = isinstance(other, KernelFlags) and self._values == other._values
        return same or bool(super().__eq__(other))  # type: ignore[no-untyped-call]


NAMES_OF_OPTIONS = hash(Flags())  # type: ignore[no-untyped-call]


class QuickCompiler(Compiler):
    """numba's compiler with `KernelFlags`."""

    def __init__(
        self,
        typingctx: Any,
        targetctx: Any,
        library: Any,
        args: Any,
        return_type: Any,
        flags: Flags,
        locals: Any,  # noqa: A002  (numba's name)
    ) -> None:
        flags = KernelFlags(flags)  # type: ignore[no-untyped-call]
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)  # type: ignore[no-untyped-call]


class KernelCompiler(QuickCompiler):
    """The same with a `KernelLibrary`."""

    library_class: type[KernelLibrary] = KernelLibrary

    def define_pipelines(self) -> Any:
        """Return numba's own passes; they put the code into our library, as it is there already."""
        state = self.state
        state.library = self.library_class(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().define_pipelines()  # type: ignore[no-untyped-call]


class LinkOnlyCompiler(KernelCompiler):
    """numba's compiler for functions that only kernels call."""

    library_class = LinkOnlyLibrary

    def define_pipelines(self) -> Any:
        """Return numba's own passes; the last one does not look for machine code."""
        self.state.targetctx = self.state.targetctx.subtarget(get_executable=_no_way_in)
        return super().define_pipelines()


def _no_way_in(library: Any, function: Any, environment: Any) -> Any:
    """Finish a library, and return the function object that numba wants to keep; calling it would crash."""
    library._ensure_finalized()
    name, functions = function.qualname.split(".")[-1], cast("Any", numba)._dynfunc
    return functions.make_function(function.lookup_module(), name, "", 0, environment, (library,))


Function = TypeVar("Function", bound=Callable[..., Any])

config: Any = numba.config  # its names are made at run time
announce.listen()


def _cast_index(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    """Return an index as numba's `fix_integer_index` does, without counting negative ones from the end."""
    from numba import types

    return context.cast(builder, index, kind, types.intp if kind.signed else types.uintp)


if cache.CHECKED:  # numba lets negative indices count from the end before it checks bounds
    from numba.np import arrayobj

    arrayobj.fix_integer_index = _cast_index


def compiled(function: Function) -> Function:
    """Compile when first called; for kernels that make arrays of their own."""
    return _compile(function, pipeline_class=QuickCompiler)


def kernel(function: Function) -> Function:
    """Compile a function that allocates nothing.

    It does without numba's reference counts (`_nrt`), whose atomic updates for every array of a large state
    take longer than the work itself.
    """
    return _compile(function, _nrt=False, pipeline_class=KernelCompiler)


def inner(function: Function) -> Function:
    """Compile as `kernel` does, for other kernels only.

    There is no way in from Python, and a call from there crashes. The function is optimised and cached only
    as a part of the kernels that call it, which more than halves the time of compiling.
    """
    return _compile(function, **INNER, _nrt=False)


def helper(function: Function) -> Function:
    """Compile as `compiled` does, for other kernels only: see `inner`."""
    return _compile(function, **INNER)


def inlined(function: Function) -> Function:
    """Compile as `inner` does, into its callers: passing a large state takes its time."""
    return _compile(function, **INNER, _nrt=False, forceinline=True)


def spliced(function: Function) -> Function:
    """Put the source into its one caller: a large function is then compiled as a part of it."""
    return _compile(function, **INNER, _nrt=False, inline="always")


INNER: dict[str, Any] = {
    "no_cpython_wrapper": True,
    "pipeline_class": LinkOnlyCompiler,
    "keep": False,
}
"""Options for a function without a way in from Python."""


def _compile(function: Function, *, keep: bool = True, **options: Any) -> Function:
    """Compile with numba's options; `keep` the machine code on disk, if it can be kept."""
    decorate: Any = numba.njit
    made = decorate(
        error_model="numpy", nogil=True, no_cfunc_wrapper=True, boundscheck=cache.CHECKED, **options
    )(function)
    folder = cache.module_folder(function.__module__, function.__code__.co_filename)
    if not keep or folder is None or config.DISABLE_JIT:
        return cast("Function", made)
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)  # numba reads it when a cache is made
    try:
        kind = SharedCache if options.get("_nrt", True) else KernelCache
        made._cache = kind(function)
    finally:
        config.CACHE_DIR = before
    return cast("Function", made)
