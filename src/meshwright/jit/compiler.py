"""The decorators that compile kernels with numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from meshwright.jit import announce, cache
from meshwright.jit.disk_cache import KernelCache, SharedCache
from meshwright.jit.link_only import KernelCompiler, LinkOnlyCompiler, QuickCompiler

Function = TypeVar("Function", bound=Callable[..., Any])

config: Any = numba.config  # its names are made at run time
announce.listen()


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
    as a part of the kernels that call it (see `link_only`), which more than halves the time of compiling.
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
    made = decorate(error_model="numpy", nogil=True, no_cfunc_wrapper=True, **options)(function)
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
