"""A Spark session that just works: Java found, the workers' Python set, little noise; or one line why not."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from meshwright.errors import ClusterError, InputError, MissingDependencyError
from meshwright.pipeline.session.cluster import (
    REACH_SECONDS,
    check_master,
    check_reachable,
    check_workers,
    unreachable,
)
from meshwright.pipeline.session.connect import ADDRESS, address, connected
from meshwright.pipeline.session.java import java_home

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

Session: TypeAlias = "SparkSession"
"""For rooms that must not import pyspark, not even for types."""

LOCAL = "local[*]"
"""The master if none is given: all cores of this machine, in this process's own Java."""

READING = {
    "spark.sql.session.timeZone": "UTC",
}
"""What decides how rows are read: set wherever this runs, unless the user's own settings do."""


def session(master: str | None = None, *, conf: Mapping[str, str] | None = None) -> SparkSession:
    """Return a Spark session, the running one if there is one.

    Parameters
    ----------
    master
        Where to run: `local[*]` (unless the user's own configuration or `SPARK_REMOTE` says otherwise),
        `local[2]`, `spark://host:7077`, `yarn`, `k8s://https://host:443`, or `sc://host:15002` for Spark
        Connect.
    conf
        Settings of Spark, before those of the user's `spark-defaults.conf`, before ours.

    Raises
    ------
    MissingDependencyError
        If there is no Java of at least version 17, or Spark is not installed.
    ClusterError
        If the master does not answer, takes up no work, or its workers' Python does not fit.
    InputError
        If the master is none, or another session runs in this process, with another one.
    """
    if master is None and os.environ.get("SPARK_REMOTE", "").startswith("sc://"):
        master = os.environ["SPARK_REMOTE"]
    if master is not None:
        check_master(master)
    try:
        import pyspark  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("Spark is not installed: pip install 'meshwright[spark]'") from error
    running = _running(master)
    if running is not None:
        return running
    if master is not None and master.startswith("sc://"):
        return connected(master, conf or {}, READING)
    return _started(master, conf or {})


def _running(master: str | None) -> SparkSession | None:
    from pyspark.sql import SparkSession

    found = SparkSession.getActiveSession()
    if found is None:
        return None
    where = found.conf.get(ADDRESS, None) or found.conf.get("spark.master", None)
    if master is not None and where not in (None, address(master)):
        raise InputError(
            f"a session with master {where} runs already: stop it first, or leave the master out"
        )
    return found


def _started(master: str | None, conf: Mapping[str, str]) -> SparkSession:
    """Start Spark's Java beside this process; it ends with it."""
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    own = _user_settings()
    where = master or conf.get("spark.master") or own.get("spark.master") or LOCAL
    check_master(where)
    check_reachable(where)
    ours = {key: value for key, value in _defaults(where).items() if key not in own}
    settings = SparkConf(loadDefaults=False).setAll([*(ours | dict(conf) | {"spark.master": where}).items()])
    with tempfile.NamedTemporaryFile(prefix="meshwright-spark-", suffix=".log") as log:
        try:
            with _environment(where, {**own, **conf}), _java(settings, log) as gateway:
                with _giving_up(where, gateway):
                    context = SparkContext(conf=settings, gateway=gateway)
                context.setLogLevel("ERROR")
                started = SparkSession(context)
        except PySparkRuntimeError as error:
            raise ClusterError(f"Spark does not start at {where}: {_last_words(Path(log.name))}") from error
        except Exception as error:
            if type(error).__module__.startswith("py4j"):
                raise ClusterError(f"Spark does not start at {where}: {_cause(error)}") from error
            raise
    if not is_local(where):
        check_workers(started)
    return started


@contextmanager
def _java(settings: SparkConf, log: Any) -> Iterator[Any]:
    """Start Spark's Java, and give the gateway to it; end it if what follows fails or is interrupted."""
    from pyspark import SparkContext, java_gateway

    launch: Any = java_gateway.launch_gateway
    gateway = None
    try:
        with _interrupts_wait():
            gateway = launch(settings, {"stdout": log, "stderr": log})
        yield gateway
    except BaseException:
        if gateway is not None and gateway.proc is not None:
            gateway.proc.kill()
        SparkContext._gateway = SparkContext._jvm = None  # the next session starts a Java of its own
        raise


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Let Ctrl-C wait for the end of the block: a Java that nobody holds yet would stay behind."""
    if threading.current_thread() is not threading.main_thread():
        yield  # no interrupt comes here
        return
    waiting: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: waiting.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
    if waiting:
        raise KeyboardInterrupt


@contextmanager
def _giving_up(master: str, gateway: Any) -> Iterator[None]:
    """End Spark's Java if a standalone master takes the call and is silent: Spark would wait for a minute."""
    if not master.startswith("spark://"):
        yield
        return
    waiting = threading.Timer(REACH_SECONDS, gateway.proc.kill)
    waiting.daemon = True
    waiting.start()
    try:
        yield
    except Exception as error:
        if not waiting.finished.is_set():  # something else went wrong before
            raise
        raise unreachable(master) from error
    finally:
        waiting.cancel()


def is_local(master: str) -> bool:
    """Tell whether a master is this process's own Java, and its workers are this machine's.

    >>> is_local("local[2]"), is_local("local-cluster[2,1,1024]"), is_local("spark://host:7077")
    (True, False, False)
    """
    return re.fullmatch(r"local(\[.*\])?", master) is not None


def _defaults(master: str) -> dict[str, str]:
    """Return our own settings: few tasks, little noise; the rest is Spark's or the user's."""
    settings = {
        "spark.app.name": "meshwright",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.driver.maxResultSize": "0",
        **READING,
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


def _user_settings() -> dict[str, str]:
    """Return what the user's own `spark-defaults.conf` says; Spark reads it too, but after ours."""
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
    """Set what Spark reads from the environment, while it starts.

    Spark would take `python3` from PATH for its workers, which in a virtual environment is another Python.
    On a cluster the path of ours is right where all machines are alike; elsewhere the user sets it.
    """
    python = os.environ.get("PYSPARK_PYTHON") or conf.get("spark.pyspark.python") or sys.executable
    wanted = {"JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable if is_local(master) else python}
    if master.startswith("local-cluster") and "SPARK_WORKER_DIR" not in os.environ:
        wanted["SPARK_WORKER_DIR"] = tempfile.mkdtemp(prefix="meshwright-work-")  # not among the packages
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


def _last_words(log: Path) -> str:
    """Return the line in which a Java that did not start says why."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"error|exception|could not|cannot", line, re.IGNORECASE)]
    return (telling or lines or ["it ended without a word"])[0][:300]


def _cause(error: Exception) -> str:
    """Return the first line of what Java complained about."""
    raised = getattr(error, "java_exception", None)
    text = str(raised.getMessage() if raised is not None else error)
    return (text.splitlines() or [type(error).__name__])[0][:300]
