"""CPU time, wall time and memory of this process and of child processes."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

Made = TypeVar("Made")


def cpu_seconds(call: Callable[[], Made], runs: int = 1) -> tuple[float, Made]:
    """Call a function `runs` times; return the minimum CPU seconds and the last result."""
    least = math.inf
    for _ in range(runs):
        gc.collect()
        began = time.process_time()
        made = call()
        least = min(least, time.process_time() - began)
    return least, made


def record_wall_time(record: dict[str, Any], name: str, call: Callable[[], Made]) -> Made:
    """Call a function and return its result; keep the minimum wall time so far in `record[name]`."""
    began = time.perf_counter()
    made = call()
    record[name] = min(time.perf_counter() - began, record.get(name, math.inf))
    return made


def process_cpu_seconds(
    arguments: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> float:
    """Run a program to its end; return the CPU seconds of it and of the children that it waited for.

    Raises `RuntimeError` with the last line of stderr if the exit code is not 0.
    """
    with subprocess.Popen(
        arguments, cwd=cwd, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stderr is not None
        complaint = child.stderr.read().strip()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        last = complaint.splitlines()[-1:] or [""]
        raise RuntimeError(f"{' '.join(arguments)} ends with exit code {child.returncode}: {last[0]}")
    return used.ru_utime + used.ru_stime


def memory(field: str, process: int | str = "self") -> float | None:
    """Return a field of /proc/PID/status in MB (`VmHWM` is the peak), or None on systems without /proc."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(field)), None)


def peak_memory() -> float | None:
    """Return the peak memory of this process in MB."""
    return memory("VmHWM")


def reset_peak() -> float | None:
    """Return freed memory to the system, reset the peak where possible, and return the memory in use."""
    gc.collect()
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except (OSError, AttributeError):
        return peak_memory()  # The peak cannot be reset, so it includes building the workload.
    return memory("VmRSS")


def descendants() -> list[int]:
    """Return the ids of this process and of all its living descendants."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:  # The process ended in the meantime.
            continue
        parents[int(status.parent.name)] = int(fields[1])
    found = [os.getpid()]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found


def cpu_seconds_of_descendants() -> float:
    """Return the CPU seconds of this process and its descendants, including those that have ended."""
    ticks = 0
    for process in descendants():
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime
    return ticks / os.sysconf("SC_CLK_TCK")
