"""Clocks, and the memory of a process: what all tasks measure with."""

from __future__ import annotations

import ctypes
import gc
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

Made = TypeVar("Made")


def cpu_seconds(call: Callable[[], Made], runs: int = 1) -> tuple[float, Made]:
    """Return the least CPU seconds of some runs of a call, and what it returns."""
    least = math.inf
    for _ in range(runs):
        gc.collect()
        began = time.process_time()
        made = call()
        least = min(least, time.process_time() - began)
    return least, made


def note_wall(record: dict[str, Any], name: str, call: Callable[[], Made]) -> Made:
    """Keep the least wall time of a call under a name, and return what it returns."""
    began = time.perf_counter()
    made = call()
    record[name] = min(time.perf_counter() - began, record.get(name, math.inf))
    return made


def memory(field: str, process: int | str = "self") -> float | None:
    """Return a field of a process's /proc/…/status in MB (`VmHWM` is its peak); None where there is none."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(field)), None)


def peak_memory() -> float | None:
    """Return the most memory that this process has taken, in MB."""
    return memory("VmHWM")


def reset_peak() -> float | None:
    """Give freed memory back, forget the peak so far where possible, and return what is in use."""
    gc.collect()
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except (OSError, AttributeError):
        return peak_memory()  # the peak of building the workload counts as idle then
    return memory("VmRSS")
