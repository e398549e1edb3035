"""Doctor: look for what this machine has of what Meshwright can use."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meshwright.actions.spark import SparkOptions
from meshwright.errors import MeshwrightError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@dataclass(frozen=True)
class Finding:
    """One thing that was looked for."""

    name: str
    found: str
    """What was found; empty if it is missing."""
    needed_for: str
    help: str = ""
    """The command that gets it, if it is missing."""


@dataclass(frozen=True)
class Checkup:
    """What was looked for, from what everything needs to what few need."""

    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether there is all that every design needs."""
        return all(one.found or one.needed_for != "everything" for one in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return all findings."""
        return {"checks": [vars(one) | {"ok": bool(one.found)} for one in self.findings]}


def check_machine(*, spark: bool = False) -> Checkup:
    """Look for Python, Java, Spark, brokers, a browser, and places to write; `spark` runs a job, too."""
    return Checkup(tuple(_look(spark=spark)))


def _look(*, spark: bool) -> Iterator[Finding]:
    """Yield what there is, from what everything needs to what few need."""
    version = platform.python_version()
    fits = sys.version_info >= (3, 11)
    yield Finding("Python", version if fits else "", "everything", "install Python 3.11 or newer")
    yield _folder("current folder", Path.cwd())
    yield _folder("temporary folder", Path(tempfile.gettempdir()))
    own = "set NUMBA_CACHE_DIR to a folder of your own"
    yield Finding("kernel cache", _kernel_cache(), "a fast start", own)
    yield _try("Java", _java, "ingest, follow, traffic and planning on Spark")
    yield _try("PySpark", _pyspark, "ingest, follow, traffic and planning on Spark")
    if spark:
        yield _try("Spark job", _spark_job, "ingest, follow, traffic and planning on Spark")
    yield _try("Mosquitto", _mosquitto, "federation and tests with real brokers")
    browser = next(filter(None, map(shutil.which, BROWSERS)), "")
    yield Finding("browser", browser or "", "the tests of pages", "apt install chromium")


def _folder(name: str, folder: Path) -> Finding:
    found = str(folder) if os.access(folder, os.W_OK) else ""
    return Finding(name, found, "everything", f"make {folder} writable, or work elsewhere")


def _try(name: str, look: Callable[[], str], needed_for: str) -> Finding:
    try:
        return Finding(name, look(), needed_for)
    except MeshwrightError as error:
        return Finding(name, "", needed_for, str(error))
    except ImportError as error:
        return Finding(name, "", needed_for, f"pip install {error.name}")


def _kernel_cache() -> str:
    from meshwright.jit.cache import base_folder

    folder = base_folder()
    return "" if folder is None else str(folder)


def _java() -> str:
    from meshwright.pipeline.session.java import java_home, java_version

    home = java_home()
    return f"{java_version(home)} in {home}"


def _pyspark() -> str:
    import importlib.metadata

    try:
        return importlib.metadata.version("pyspark")
    except importlib.metadata.PackageNotFoundError as error:
        raise ModuleNotFoundError(name="pyspark") from error


def _spark_job() -> str:
    spark = SparkOptions().open()
    return f"counted to {spark.range(1000).count()} on Spark {spark.version}"


def _mosquitto() -> str:
    from meshwright.brokers.mosquitto import find_mosquitto, installed_version

    return f"{installed_version()} at {find_mosquitto()}"
