"""Where results come from: the command, the machine, the version and the time."""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from meshwright.formatting import duration


@dataclass(frozen=True)
class Provenance:
    """How a reproduction was made."""

    command: str
    machine: str
    version: str
    seconds: float
    """CPU time of all cells together, also those of earlier runs that were stopped."""
    cells: int
    seeds: int
    """The largest number of seeds of a cell."""
    graphs: tuple[str, ...]
    """Names of the real graphs that were given."""

    def lines(self) -> list[tuple[str, str]]:
        """Return what a page states, as labels and values."""
        return [
            ("command", self.command),
            ("machine", self.machine),
            ("version", f"meshwright {self.version}"),
            (
                "time",
                f"{duration(self.seconds)} of CPU for {self.cells:,} cells, up to {self.seeds} seeds each",
            ),
            ("graphs", ", ".join(self.graphs) or "none given: social graphs are synthetic"),
        ]


def describe_command(key: str, *, full: bool, graphs: Iterable[str], out: Path) -> str:
    """Return the command that makes a reproduction.

    >>> describe_command("podc07", full=False, graphs=[], out=Path("out"))
    'meshwright reproduce podc07 --quick --out out'
    """
    named = [word for name in graphs for word in ("--graph", f"{name}=FILE")]
    size = "--full" if full else "--quick"
    return shlex.join(["meshwright", "reproduce", key, size, *named, "--out", out.name or str(out)])


def describe_machine() -> str:
    """Return the processor, its cores, the memory, the system and the Python of this machine."""
    cores = os.cpu_count() or 1
    parts = [_processor(), f"{cores} core{'s' if cores > 1 else ''}"]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        parts.append(f"{memory / 2**30:.0f} GiB")
    parts.append(f"{platform.system()} {platform.machine()}")
    parts.append(f"Python {platform.python_version()}")
    return ", ".join(parts)


def _processor() -> str:
    """Return the name of the processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"


def own_version() -> str:
    """Return the version of Meshwright."""
    return version("meshwright")
