"""Compiling kernels with numba: once for each machine, kept where the user can write.

Compiled code lies in a folder for each room of kernels, named after a digest of the sources of all kernels
that the room may call, its own and the engine's, so that a change never leaves a stale caller. It is below
`NUMBA_CACHE_DIR` if that is set, else in the user's cache, else, if neither can be written, in the temporary
folder.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import binding

Function = TypeVar("Function", bound=Callable[..., Any])

config: Any = numba.config  # its names are made at run time


def compiled(function: Function) -> Function:
    """Compile when first called; for kernels that make arrays of their own."""
    return _compile(function)


def kernel(function: Function) -> Function:
    """Compile a function that allocates nothing.

    It does without numba's reference counts (`_nrt`), whose atomic updates for every array of a large state
    take longer than the work itself.
    """
    return _compile(function, _nrt=False)


def inner(function: Function) -> Function:
    """Compile as `kernel` does, for other kernels only.

    There is no way in from Python, and a call from there crashes. To make one for each function took half of
    the time of compiling.
    """
    return _compile(function, _nrt=False, no_cpython_wrapper=True)


def inlined(function: Function) -> Function:
    """Compile as `inner` does, into its callers: passing a large state takes its time."""
    return _compile(function, _nrt=False, no_cpython_wrapper=True, forceinline=True)


def spliced(function: Function) -> Function:
    """Put the source into its one caller: a large function is then optimised once, not here and there."""
    return _compile(function, _nrt=False, no_cpython_wrapper=True, inline="always")


def _compile(function: Function, **options: bool | str) -> Function:
    folder = cache_folder(_room(function))
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder or "")  # numba reads it here, when the function is decorated
    try:
        decorate: Any = numba.njit
        options |= {"cache": folder is not None, "nogil": True, "no_cfunc_wrapper": True}
        return cast("Function", decorate(error_model="numpy", **options)(function))
    finally:
        config.CACHE_DIR = before


def announcement(room: str) -> str:
    """Say that a room's kernels are being compiled, and whether this happens once only."""
    if cache_folder(room) is None:
        return "compiling kernels, as in every run: set NUMBA_CACHE_DIR to a folder that can be written"
    return "compiling kernels, first run only"


def announce(kernels: str, progress: Callable[[int, float, str], None] | None) -> None:
    """Say through `progress` that a room's kernels, or `room/some`, have to be compiled, if they have."""
    if progress is not None and not is_kept(kernels):
        progress(0, 0.0, announcement(kernels.partition("/")[0]))


def is_kept(kernels: str) -> bool:
    """Say whether a room's kernels, or `room/some` of them, were compiled before from these sources."""
    room, _, some = kernels.partition("/")
    folder = cache_folder(room)
    return bool(config.DISABLE_JIT) or (folder is not None and (folder / f"{some or room}.ready").exists())


def keep(kernels: str) -> None:
    """Note that a room's kernels, or `room/some` of them, are compiled and kept."""
    room, _, some = kernels.partition("/")
    folder = cache_folder(room)
    if folder is not None:
        (folder / f"{some or room}.ready").touch()


@cache
def cache_folder(room: str) -> Path | None:
    """Return the first folder of our own that can be written, for a room's kernels, or None."""
    user = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or "~/.cache"
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    bases = [Path(chosen)] if chosen else [Path(user) / "meshwright"]
    # Compiled code is loaded and run: in a folder that others share, it must be ours alone.
    owner = os.getuid() if hasattr(os, "getuid") else ""
    for base in [*bases, Path(tempfile.gettempdir()) / f"meshwright-{owner}"]:
        try:
            folder = base.expanduser() / f"{room}-{_digest(room)}"
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (folder / ".probe").touch()
            (folder / ".probe").unlink()
        except (OSError, RuntimeError):
            continue
        if not owner or folder.parent.stat().st_uid == folder.stat().st_uid == owner:
            return folder
    return None


def _room(function: Callable[..., Any]) -> str:
    """Return the room that a function belongs to: `greedy` for one of `meshwright.greedy.kernels.rows`."""
    return function.__module__.split(".")[1]


def _digest(room: str) -> str:
    """Digest the sources of all kernels that a room may call, and what else their machine code depends on."""
    package = Path(__file__).parents[1]
    sources = {*package.glob("jit/*.py"), *package.glob("dynamic/*.py")}
    for callee in {room, "greedy", "measure", "search", "designs"}:
        sources |= {*package.glob(f"{callee}/**/kernels.py"), *package.glob(f"{callee}/**/kernels/*.py")}
    machine = f"{numba.__version__} {np.__version__} {sys.version} {binding.get_host_cpu_name()}"
    # numba finds compiled code by the path of its source: another copy of the package compiles anew.
    digest = hashlib.sha256(f"{machine} {package.resolve()}".encode())
    for source in sorted(sources):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]
