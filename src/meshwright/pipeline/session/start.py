"""Spark sessions: finds Java, sets the Python of the workers, and reports failures in one line."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from meshwright.errors import ClusterError, InputError, MissingDependencyError
from meshwright.formatting import hide_secrets
from meshwright.pipeline.session.cluster import (
    ADDRESS,
    REACH_SECONDS,
    address,
    check_master,
    check_reachable,
    check_workers,
    connect,
    unreachable_error,
)
from meshwright.pipeline.session.java import java_home

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

Session: TypeAlias = "SparkSession"
"""The session type, for packages that must not import pyspark, not even for types."""

LOCAL = "local[*]"
"""The default master: all cores of this machine."""

SESSION_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
}
"""Settings that affect how rows are read; applied on every master unless the user sets them."""


def session(
    master: str | None = None,
    *,
    conf: Mapping[str, str] | None = None,
    connect_timeout: float = REACH_SECONDS,
) -> SparkSession:
    """Return the running Spark session, or start one.

    Parameters
    ----------
    master
        Where to run: `local[2]`, `spark://host:7077`, `yarn`, `k8s://https://host:443`, or `sc://host:15002`
        for Spark Connect. The default is `SPARK_REMOTE`, then the user's `spark-defaults.conf`, then
        `local[*]`.
    conf
        Spark settings. They override the user's `spark-defaults.conf`, which overrides our defaults.
    connect_timeout
        The seconds that the master may take to answer; the time that Java takes to start does not count.

    Raises
    ------
    MissingDependencyError
        If Spark is not installed, or there is no Java 17 or newer.
    ClusterError
        If the master does not answer, starts no task, or the Python of its workers is unsuitable.
    InputError
        If the master is invalid, or a session with another master runs in this process.
    """
    if master is None and os.environ.get("SPARK_REMOTE", "").startswith("sc://"):
        master = os.environ["SPARK_REMOTE"]
    if master is not None:
        check_master(master)
    try:
        import pyspark  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("Spark is not installed: pip install 'meshwright[spark]'") from error
    running = _running_session(master)
    if running is not None:
        return running
    if master is not None and master.startswith("sc://"):
        return connect(master, conf or {}, SESSION_SETTINGS, connect_timeout)
    return _start(master, conf or {}, connect_timeout)


def _running_session(master: str | None) -> SparkSession | None:
    """Return the session of this process, if there is one and it has this master."""
    from pyspark.sql import SparkSession

    found = SparkSession.getActiveSession()
    if found is None:
        return None
    where = found.conf.get(ADDRESS, None) or found.conf.get("spark.master", None)
    if master is not None and where not in (None, address(master)):
        raise InputError(
            f"a session with master {where} is already running: stop it first, or leave the master out"
        )
    return found


def _start(master: str | None, conf: Mapping[str, str], connect_timeout: float) -> SparkSession:
    """Start Spark in a Java process that ends with this process."""
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    own = user_settings()
    where = master or conf.get("spark.master") or own.get("spark.master") or LOCAL
    check_master(where)
    check_reachable(where, connect_timeout)
    ours = {key: value for key, value in _defaults(where).items() if key not in own}
    settings = SparkConf(loadDefaults=False).setAll([*(ours | dict(conf) | {"spark.master": where}).items()])
    with tempfile.NamedTemporaryFile(prefix="meshwright-spark-", suffix=".log") as log:
        try:
            launched = time.monotonic()
            with _environment(where, {**own, **conf}), _java_gateway(settings, log) as gateway:
                # Spark's own preparations take about as long as Java's start, or less, on any machine.
                preparing = 3 * (time.monotonic() - launched)
                with _time_limit(where, gateway, connect_timeout + preparing):
                    context = SparkContext(conf=settings, gateway=gateway)
                context.setLogLevel("ERROR")
                started = SparkSession(context)
        except PySparkRuntimeError as error:
            raise ClusterError(
                f"Spark does not start at {where}: {_startup_error(Path(log.name))}"
            ) from error
        except Exception as error:
            if type(error).__module__.startswith("py4j"):
                raise ClusterError(f"Spark does not start at {where}: {_java_message(error)}") from error
            raise
    if not is_local(where):
        check_workers(started)
    return started


@contextmanager
def _java_gateway(settings: SparkConf, log: Any) -> Iterator[Any]:
    """Start Spark's Java and yield the gateway to it; kill it if the block fails or is interrupted."""
    from pyspark import SparkContext, java_gateway

    launch: Any = java_gateway.launch_gateway
    gateway = None
    try:
        with _delay_interrupts():
            gateway = launch(settings, {"stdout": log, "stderr": log})
        yield gateway
    except BaseException:
        if gateway is not None and gateway.proc is not None:
            gateway.proc.kill()
        # Let the next session start a new Java.
        SparkContext._gateway = SparkContext._jvm = None
        raise


@contextmanager
def _delay_interrupts() -> Iterator[None]:
    """Delay Ctrl-C until the end of the block: an interrupted launch would leave a Java process behind."""
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread receives interrupts.
        yield
        return
    interrupts: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
    if interrupts:
        raise KeyboardInterrupt


@contextmanager
def _time_limit(master: str, gateway: Any, seconds: float) -> Iterator[None]:
    """Kill Spark's Java if a standalone master accepts the connection but never answers.

    Spark itself would wait for a minute.
    """
    if not master.startswith("spark://"):
        yield
        return
    timer = threading.Timer(seconds, gateway.proc.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception as error:
        # Before the timer fires, the error has another cause.
        if not timer.finished.is_set():
            raise
        raise unreachable_error(master) from error
    finally:
        timer.cancel()


def is_local(master: str) -> bool:
    """Return whether a master runs its tasks inside the Java of this process.

    >>> is_local("local[2]"), is_local("local-cluster[2,1,1024]"), is_local("spark://host:7077")
    (True, False, False)
    """
    return re.fullmatch(r"local(\[.*\])?", master) is not None


DRIVER_MEMORY = "2g"
"""The heap of the driver on a cluster: it receives counts, but keeps track of all tasks."""


def _defaults(master: str) -> dict[str, str]:
    """Return our default settings: few tasks and no console output."""
    settings = {
        "spark.app.name": "meshwright",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.driver.memory": DRIVER_MEMORY,
        **SESSION_SETTINGS,
    }
    if master.startswith("local"):
        cores = os.cpu_count() or 1
        settings |= {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": str(4 * cores),
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": f"{max(_memory_gibibytes() // 2, 1)}g",
        }
    return settings


def _memory_gibibytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**30


def user_settings() -> dict[str, str]:
    """Return the settings in the user's `spark-defaults.conf`, which Spark would rank below ours."""
    folder = os.environ.get("SPARK_CONF_DIR") or (
        os.environ.get("SPARK_HOME", "") and f"{os.environ['SPARK_HOME']}/conf"
    )
    file = Path(folder or "/nowhere") / "spark-defaults.conf"
    if not file.is_file():
        return {}
    lines = (line.strip() for line in file.read_text(encoding="utf-8").splitlines())
    pairs = (re.split(r"[\s=:]+", line, maxsplit=1) for line in lines if line and not line.startswith("#"))
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


@contextmanager
def _environment(master: str, conf: Mapping[str, Any]) -> Iterator[None]:
    """Set the environment variables that Spark reads while it starts.

    For its workers, Spark would take `python3` from PATH, which is the wrong Python in a virtual environment.
    On a cluster we use the path of our own Python, which is right if all machines are alike; otherwise the
    user sets PYSPARK_PYTHON.
    """
    python = os.environ.get("PYSPARK_PYTHON") or conf.get("spark.pyspark.python") or sys.executable
    wanted = {"JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable if is_local(master) else python}
    if master.startswith("local-cluster") and "SPARK_WORKER_DIR" not in os.environ:
        # By default, the workers would write into the installed package.
        wanted["SPARK_WORKER_DIR"] = tempfile.mkdtemp(prefix="meshwright-work-")
        atexit.register(shutil.rmtree, wanted["SPARK_WORKER_DIR"], ignore_errors=True)
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _startup_error(log: Path) -> str:
    """Return the line of the log that says why Java did not start."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    relevant = [line for line in lines if re.search(r"error|exception|could not|cannot", line, re.IGNORECASE)]
    return (relevant or lines or ["it ended without a message"])[0][:300]


def _java_message(error: Exception) -> str:
    """Return the first line of the message of a Java exception."""
    raised = getattr(error, "java_exception", None)
    text = hide_secrets(str(raised.getMessage() if raised is not None else error))  # before it is cut
    return (text.splitlines() or [type(error).__name__])[0][:300]
