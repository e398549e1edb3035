"""Where compiled kernels are kept, and the digest that tells whether they are stale.

Every module of kernels has a folder, named after a digest of its source and of the sources of all modules of
the package that it imports, directly or through others. numba compares only the kernel's own file; the digest
also notices a change in a kernel that is called, or in a constant that is compiled into the code.

The folders are below `NUMBA_CACHE_DIR` if that is set, else in the user's cache, else, if that cannot be
used, in the temporary folder. Where somebody else could write, nothing is kept: the last choice is a private
temporary folder that lives as long as the process.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
CHECKED = os.environ.get("MESHWRIGHT_CHECK") == "1"
"""Whether kernels check the bounds of every index; they are compiled apart."""

TYPE_CHECKING_BLOCK = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t]+.*\n|\n)*", re.MULTILINE)
IMPORT = re.compile(
    r"^[ \t]*(?:from meshwright\.?([\w.]*) import (\([^)]*\)|[^#\n]*)|import meshwright\.?([\w.]*))",
    re.MULTILINE,
)
"""An import statement of the package. A regular expression takes a hundredth of the time that `ast` takes."""


@cache
def base_folder() -> Path | None:
    """Return the folder that lasts, or one for this process alone, or None if nothing can be written."""
    return lasting_folder() or _private_temporary_folder()


def lasting_folder() -> Path | None:
    """Return the first folder that can be written by the current user and by nobody else, or None.

    Compiled code is loaded and run, so a folder that somebody else could have filled is not used.
    """
    user = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or "~/.cache"
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    owner = os.getuid() if hasattr(os, "getuid") else "user"
    for base in (
        Path(chosen) if chosen else Path(user) / "meshwright",
        Path(tempfile.gettempdir()) / f"meshwright-{owner}",
    ):
        try:
            folder = base.expanduser().resolve()
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):  # fails where nothing can be written
                pass
            if _is_private(folder):
                return folder
        except (OSError, RuntimeError):
            continue
    return None


def _private_temporary_folder() -> Path | None:
    """Return a new temporary folder that is deleted when this process ends, or None."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="meshwright-"))  # mode 0700
    except OSError:
        return None
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def module_folder(module: str, source: str) -> Path | None:
    """Return the folder for the kernels of a module, by its name and source file, or None."""
    base = base_folder()
    if base is None:
        return None
    try:
        folder = base / f"{module}-{digest(Path(source))}{'-checked' if CHECKED else ''}"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder if _is_private(folder) else None
    except OSError:
        return None


def _is_private(folder: Path) -> bool:
    """Return whether a folder belongs to the current user, and nobody else can write to it or replace it.

    The folders above it belong to the user or to root, and not everybody can rename what is in them: they are
    not writable by all, or they are sticky, as the temporary folder is. All this holds for root, too.
    """
    if not hasattr(os, "getuid"):
        return True
    user = os.getuid()
    status = folder.stat()
    if status.st_uid != user or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return False
    for above in folder.parents:
        status = above.stat()
        open_to_all = status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX
        if status.st_uid not in (0, user) or open_to_all:
            return False
    return True


def digest(source: Path) -> str:
    """Digest what the machine code of a module depends on: sources, versions, processor.

    numba finds compiled code by the path of its source, so the path of the package counts, too.
    """
    whole = hashlib.sha256(_platform())
    for file in sorted(import_closure(source)):
        whole.update(_read(file)[0])
    return whole.hexdigest()[:16]


def import_closure(source: Path) -> set[Path]:
    """Return a source file and all files of the package that it imports, directly or through others.

    Imports for type checkers only are left out.
    """
    found = {source}
    open_files = [source]
    while open_files:
        new = set(_read(open_files.pop())[1]) - found
        found |= new
        open_files += new
    return found


@cache
def _platform() -> bytes:
    import numba
    import numpy as np
    from llvmlite import binding

    versions = f"{numba.__version__} {np.__version__} {sys.version}"
    return f"{versions} {binding.get_host_cpu_name()} {PACKAGE}".encode()


@cache
def _read(source: Path) -> tuple[bytes, tuple[Path, ...]]:
    """Return the digest of a source file, and the files of the package that it imports itself."""
    content = source.read_bytes()
    text = TYPE_CHECKING_BLOCK.sub("", content.decode())
    imported: set[Path] = set()
    for module, names, plain in IMPORT.findall(text):
        imported |= _files(module or plain, re.findall(r"(\w+)(?: as \w+)?", names))
    return hashlib.sha256(content).digest(), tuple(sorted(imported))


def _files(module: str, names: list[str]) -> set[Path]:
    """Return the files that `from module import names` reads; a name may be a module in a package."""
    place = PACKAGE.joinpath(*filter(None, module.split(".")))
    if not place.is_dir():
        return {place.with_suffix(".py")}
    modules = {place / f"{name}.py" for name in names}
    found = {file for file in modules if file.is_file()}
    return found if found == modules and found else found | {place / "__init__.py"}
