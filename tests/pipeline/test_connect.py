"""Spark Connect: every command gives the same result as on this machine, or a one-line error."""

from __future__ import annotations

import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import terminal
from connect_service import service
from meshwright.errors import ClusterError, InputError, MissingDependencyError
from meshwright.pipeline.session.cluster import check_version, connect
from meshwright.pipeline.session.jobs import translate_error
from meshwright.pipeline.session.start import session
from meshwright.store.datasets import write_dataset
from meshwright.workloads import unif
from pipeline.cluster_program import expectation
from pipeline.test_pages import connection, connz, emqx
from standalone import wait

PROGRAM = Path(__file__).with_name("cluster_program.py")
pytest.importorskip("grpc", reason="pip install 'pyspark[connect]'")
pytest.importorskip("pyspark", minversion="4.0", reason="Spark Connect needs PySpark 4.0 or newer")


def meshwright(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder."""
    command = [sys.executable, "-m", "meshwright", *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False, text=True, timeout=300)


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Return the contents of every file in a folder."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start one service for all tests."""
    with service(tmp_path_factory.mktemp("service")) as address:
        yield address


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write all seven formats, some compressed, most with bad rows."""
    folder = tmp_path_factory.mktemp("source")
    words = ["subscribe", "subscribe", "unsubscribe", "dance"]
    events = [(f"n{i * 7 % 50}", f"t{i * i % 30}", words[i % 4], i * 37 % 600) for i in range(900)]
    csv = "node,topic,operation,time\n" + "".join(",".join(map(str, event)) + "\n" for event in events)
    (folder / "csv").mkdir()
    (folder / "csv" / "0.csv").write_text(csv)
    (folder / "csv" / "1.csv.gz").write_bytes(gzip.compress(csv.replace("n1", "m1").encode()))
    lines = [json.dumps({"node": node, "topic": topic}) for node, topic, *_ in events]
    (folder / "pairs.jsonl").write_text("\n".join([*lines, '{"node": ', '{"node": "x"}']))
    (folder / "edges.txt").write_text("# a comment\n1\t2\n2\t3\nbroken\n")
    node, topic, operation, time = zip(*events, strict=True)
    pairs = pa.table({"node": node, "topic": topic})
    pq.write_table(pairs, folder / "clean.parquet")
    # Times without a zone are UTC, also if the service has another zone.
    times = [f"2026-03-08 0{at // 60 % 10}:{at % 60:02}:00" for at in time]
    when = {"operation": pa.array(operation), "time": pa.array(times)}
    pq.write_table(pa.table({"node": node, "topic": topic, **when}), folder / "events.parquet")
    for kind, page in {
        "nats": connz("A", 0, 1, connection(1, "x", "y")),
        "emqx": emqx(1, False, ("n1", "c1", "t"), ("n2", "c3", None)),
    }.items():
        (folder / f"{kind}.json").write_text(page)
    log = ["1700000000: mosquitto version 2.0.11 starting"]
    for client in range(9):
        log.append(
            f"1700000001: New client connected from 127.0.0.1:4{client:03} as a {client} (p2, c1, k60)."
        )
        log.append(f"1700000002: a {client} 1 s/{client % 4}")
    (folder / "broker.log").write_text("\n".join([*log, "1700000003: Client a 3 disconnected.\n"]))
    publications = [f"p{i % 7},t{i % 5},{i},{i}\n" for i in range(500)]
    (folder / "published.csv").write_text("publisher,topic,size,time\n" + "".join(publications))
    return folder


COMMANDS = {
    "events": "ingest csv --format csv --as-of 500 --max-bad 0.3",
    "pairs": "ingest pairs.jsonl",
    "edges": "ingest edges.txt --max-bad 0.5",
    "clean": "ingest clean.parquet",
    "times": "ingest events.parquet --as-of 2026-03-08T05:00:00Z --max-bad 0.3",
    "nats": "ingest nats.json --format nats-connz",
    "emqx": "ingest emqx.json --format emqx --max-bad 0.5",
    "brokers": "ingest broker.log --format mosquitto-log",
    "traffic": "traffic published.csv",
    "sample": "sample dataset --nodes 90 --seed 3",
}
EXECUTE = """
import json, sys
from meshwright.cli.main import execute
master, out, commands = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
for name, words in commands.items():
    assert execute([*words.split(), "--out", f"{out}/{name}", "--master", master]) == 0, name
print("profile")
execute(["profile", "dataset", "--json", "--master", master])
"""


@pytest.mark.slow
def test_the_same_bytes(remote: str, source: Path, tmp_path: Path) -> None:
    """Datasets, quarantines, samples, traffic and profiles equal those made on this machine."""
    write_dataset(unif(600, 40, size=4, seed=2), source / "dataset")
    figures = []
    for name, master in (("here", "local[1]"), ("there", remote)):
        command = [sys.executable, "-c", EXECUTE, master, str(tmp_path / name), json.dumps(COMMANDS)]
        done = subprocess.run(command, cwd=source, capture_output=True, check=False, text=True)
        assert done.returncode == 0, done.stderr
        figures.append(json.loads(done.stdout.partition("\nprofile\n")[2]))
    assert figures[0] == figures[1]
    assert [path.name for path in sorted((tmp_path / "there").iterdir())] == sorted(COMMANDS)
    assert bytes_of(tmp_path / "here") == bytes_of(tmp_path / "there")


@pytest.mark.slow
def test_the_same_plans_and_verdicts(remote: str, tmp_path: Path) -> None:
    """Parts and verification give the results of one process without Spark."""
    done = subprocess.run(
        [sys.executable, PROGRAM, remote, tmp_path], capture_output=True, check=False, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answers = json.loads(done.stdout.splitlines()[-1])
    assert answers | expectation() == answers
    verified = meshwright(tmp_path, "verify", "data/gm", "data/dataset", "--master", remote)
    assert verified.returncode == 0, verified.stderr


@pytest.mark.slow
def test_following_when_the_client_is_killed(remote: str, tmp_path: Path) -> None:
    """The client reports batches; a killed run continues, and writes each event exactly once."""
    words = ("in", "--format", "csv", "--master", remote)
    (tmp_path / "in").mkdir()

    def drop(number: int) -> None:
        rows = [f"{'un' * (number % 2)}subscribe,n{i % 5},t{i},{100 * number + i}\n" for i in range(20)]
        (tmp_path / f".{number}").write_text("operation,node,topic,time\n" + "".join(rows))
        (tmp_path / f".{number}").rename(tmp_path / "in" / f"{number}.csv")

    drop(0)
    killed = subprocess.Popen(
        [sys.executable, "-m", "meshwright", "follow", *words, "--every", "1", "--out", "out"],
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait(lambda: len(list(tmp_path.glob("out/batches/batch-*"))) == 1)
        drop(1)
    finally:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    drop(2)
    again = meshwright(tmp_path, "follow", *words, "--once", "--out", "out")
    assert again.returncode == 0, again.stderr
    whole = meshwright(tmp_path, "follow", *words, "--once", "--out", "whole", "--json")
    assert json.loads(whole.stdout)["read"] == 60
    left = [json.loads(file.read_text()) for file in sorted(tmp_path.glob("out/batches/batch-*"))]
    assert sum(batch["read"] for batch in left) == 60
    texts = [file.read_text() for file in sorted(tmp_path.glob("out/events/batch-*"))]
    events = [json.loads(line) for line in "".join(texts).splitlines()]
    assert [event["sequence"] for event in events] == list(range(len(events)))
    held: set[tuple[str, str]] = set()
    for event in events:
        topics = {(event["node"], topic) for topic in event["topics"]}
        if event["event"] in ("join", "subscribe"):
            assert not held & topics
            held |= topics
        else:
            held -= topics if event["event"] == "unsubscribe" else {p for p in held if p[0] == event["node"]}
    assert held == {(f"n{i % 5}", f"t{i}") for i in range(20)}


@pytest.mark.slow
def test_what_a_service_refuses(remote: str, source: Path, tmp_path: Path) -> None:
    """A setting that sessions cannot change, a truncated file and a missing file give one line each."""
    whole = (source / "csv" / "1.csv.gz").read_bytes()
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    for words, line in {
        ("cut.csv.gz", "--conf", "spark.executor.memory=4g"): "spark.executor.memory cannot be set through",
        ("cut.csv.gz",): "cut.csv.gz is cut off",
        ("absent.csv",): "absent.csv does not exist",
    }.items():
        done = meshwright(tmp_path, "ingest", *words, "--out", "out", "--master", remote)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert line in done.stderr


SESSIONS = """
import sys
from meshwright.errors import InputError
from meshwright.pipeline.session.start import session
first = session(conf={"spark.sql.shuffle.partitions": "5"})
assert session(sys.argv[1] + "/;user_id=x") is first
assert first.conf.get("spark.sql.shuffle.partitions") == "5"
try: session("local[2]")
except InputError as error: print(error)
"""


@pytest.mark.slow
def test_a_running_session_is_reused(remote: str) -> None:
    """SPARK_REMOTE names the service; a second call returns the same session, another master is refused."""
    environment = {**os.environ, "SPARK_REMOTE": remote}
    command = [sys.executable, "-c", SESSIONS, remote]
    done = subprocess.run(command, env=environment, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"a session with master {remote} is already running")


@pytest.fixture
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Act as if no session runs in this process."""
    monkeypatch.setattr("meshwright.pipeline.session.start._running_session", lambda master: None)


@pytest.mark.usefixtures("no_session")
def test_an_unreachable_service(tmp_path: Path) -> None:
    """An address without a server gives one line and exit code 2."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        master = f"sc://127.0.0.1:{server.getsockname()[1]}"
    (tmp_path / "a.csv").write_text("node,topic\na,b\n")
    answer = terminal.meshwright("ingest", tmp_path / "a.csv", "--out", tmp_path / "out", "--master", master)
    assert answer.complaint.startswith(f"meshwright: error: no Spark master answers at {master}: start it")


@pytest.mark.slow
def test_a_server_that_is_not_a_service() -> None:
    """A server that accepts the connection but never answers is refused."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken: list[socket.socket] = []
        threading.Thread(target=lambda: taken.append(server.accept()[0]), daemon=True).start()
        master = f"sc://127.0.0.1:{server.getsockname()[1]}"
        program = f"from meshwright.pipeline.session.cluster import connect\nconnect({master!r}, {{}}, {{}})"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, text=True)
        for connection in taken:
            connection.close()
    assert f"ClusterError: no Spark master answers at {master}" in done.stderr.splitlines()[-1]


@pytest.mark.usefixtures("no_session")
def test_an_invalid_address() -> None:
    """An invalid address is named, without the secrets in its options."""
    with pytest.raises(
        InputError, match="the address sc://host:1/path, including its options, is"
    ) as refused:
        session("sc://host:1/path;token=secret")
    assert "secret" not in str(refused.value)


def test_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the packages of Spark Connect, one line says what to install."""
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'pyspark\[connect\]>=4'"):
        connect("sc://127.0.0.1:1", {}, {})


def test_a_service_that_is_too_old() -> None:
    """A service of an earlier Spark is refused, and the error names the version needed."""
    check_version("4.0.1")
    check_version("10.0.0-SNAPSHOT")
    with pytest.raises(ClusterError, match=r"runs Spark 3\.5\.7, and 4\.0 or newer"):
        check_version("3.5.7")


def test_a_message_that_is_too_large() -> None:
    """A message above the limit of Spark Connect is reported in megabytes, with what to do instead."""
    text = 'rpc:\n\tdetails = "CLIENT: Sent message larger than max (209716275 vs. 134217728)"'
    line = str(translate_error(RuntimeError(text)))
    assert line.startswith("every task needs 200 MB, and Spark Connect sends 128 MB at most")
    assert "closed" in str(translate_error(RuntimeError('rpc:\n\tdetails = "the socket closed"\n>')))
