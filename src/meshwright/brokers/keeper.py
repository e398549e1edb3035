"""A process of its own that ends brokers when the one that started them is gone, however that ended.

It reads `+PID` and `-PID` from its input, and when that closes kills what is left. It is run as a plain file
and imports nothing but the standard library, so that it is there at once.
"""

import os
import signal
import sys
from pathlib import Path


def _is_broker(pid: int) -> bool:
    """Look, where one can, whether a process is still the broker that it was."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").startswith("mosquitto")
    except OSError:
        return not Path("/proc/self").exists()


def _main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    running: set[int] = set()
    for line in sys.stdin:
        (running.add if line[0] == "+" else running.discard)(int(line[1:]))
    for pid in running:
        if _is_broker(pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue


if __name__ == "__main__":
    _main()
