"""The machine that figures come from."""

import datetime
import importlib.metadata
import os
import platform
from pathlib import Path


def machine() -> str:
    """Name the processor, memory, versions and date."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
        memory = f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
        load = f"load {os.getloadavg()[0]:.1f} at the start"
    except (OSError, StopIteration):  # no Linux, or a processor that does not name itself
        model, memory, load = platform.processor() or platform.machine(), "memory unknown", "load unknown"
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "numba", "scipy")]
    today = datetime.datetime.now(datetime.UTC).date()
    return (
        f"{model}, {os.cpu_count()} cores, {memory}, {platform.system()}, {load}. "
        f"Python {platform.python_version()}, {', '.join(versions)}. {today}.\n"
        "Seconds are CPU seconds of one thread with warm kernels: best of three runs of the engine and of "
        "two of its competitors; of up to twenty where they are very short, of fewer beyond 20 s."
    )
