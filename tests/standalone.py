"""A real Spark cluster on loopback: a master and workers as separate processes that can be killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from meshwright.pipeline.session.java import java_home

CORES = 1
"""The cores of each worker."""
HERE = ("--host", "127.0.0.1", "--webui-port", "0")


@dataclass(frozen=True)
class Worker:
    """The process of a worker, and the working folder of its executors."""

    process: subprocess.Popen[bytes]
    folder: Path

    def is_busy(self) -> bool:
        """Return whether a task is running, according to the logs of the executors."""
        logs = [log.read_text(errors="replace") for log in self.folder.glob("*/*/stderr")]
        return sum(log.count("Running task") - log.count("Finished task") for log in logs) > 0

    def kill(self) -> None:
        """Kill the worker and all its children, like a machine that fails."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@dataclass(frozen=True)
class Cluster:
    """The address of the master, and the workers."""

    master: str
    workers: list[Worker]


@contextmanager
def standalone(folder: Path, workers: int = 2, *, hidden: Path | None = None) -> Iterator[Cluster]:
    """Run a cluster in the `with` block; its logs and working folders are in `folder`.

    Workers have their own view of the file system, in which the folder `hidden` is empty.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    running: list[Worker] = []
    url = f"spark://127.0.0.1:{port}"
    try:
        running.append(Worker(_launch(folder, "master.Master", "--port", str(port)), folder))
        wait(lambda: _answers(port))
        for number in range(workers):
            place = folder / f"work-{number}"
            words = (url, "--cores", str(CORES), "--memory", "1g", "--work-dir", str(place))
            running.append(Worker(_launch(folder, "worker.Worker", *words, hidden=hidden), place))
        wait(lambda: (folder / "master.Master-0.log").read_text().count("Registering worker") == workers)
        yield Cluster(url, running[1:])
    finally:
        for process in reversed(running):
            process.kill()


def can_hide() -> bool:
    """Return whether this user may give processes their own view of the file system."""
    try:
        return subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def _launch(folder: Path, daemon: str, *words: str, hidden: Path | None = None) -> subprocess.Popen[bytes]:
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "JAVA_HOME": str(java_home()),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    alone: tuple[str | Path, ...] = ()
    if hidden is not None:
        alone = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', hidden)
    count = len(list(folder.glob(f"{daemon}-*.log")))
    with (folder / f"{daemon}-{count}.log").open("wb") as log:
        return subprocess.Popen(
            [*alone, home / "bin" / "spark-class", f"org.apache.spark.deploy.{daemon}", *words, *HERE],
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def wait(ready: Callable[[], bool], seconds: float = 120.0) -> None:
    """Wait until a condition holds."""
    ends = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < ends, "what was waited for did not come"
        time.sleep(0.1)
