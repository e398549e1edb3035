"""Sources and datasets by URL: a URL is never taken for a path, and object stores hold whole datasets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from meshwright import Interest, load_interest
from meshwright.errors import InputError
from meshwright.pipeline.dataset.ingest import ingest
from meshwright.pipeline.readers.sources import list_files
from meshwright.store.datasets import write_dataset
from meshwright.store.plans import read_plan
from meshwright.workloads import zipf
from terminal import meshwright, process


def test_file_urls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`file:` URLs are local paths, with any number of slashes and percent-encoded."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a b.csv").write_text("node,topic\na,x\n")
    for url in (f"file://{tmp_path}/a%20b.csv", f"file:{tmp_path}/a%20b.csv"):
        ingest(None, [url], f"file://{tmp_path}/out")
        assert load_interest(f"file:{tmp_path}/out").num_nodes == 1
    answer = meshwright("ingest", f"file://{tmp_path}/a%20b.csv", "--out", f"file://{tmp_path}/cli")
    assert answer.code == 0
    assert meshwright("profile", f"file://{tmp_path}/cli").code == 0
    assert meshwright("plan", f"file://{tmp_path}/cli", "--out", f"file://{tmp_path}/plan").code == 0
    assert len(read_plan(f"file://{tmp_path}/plan").edges) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a b.csv", "cli", "out", "plan"]


def test_urls_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheme that is unknown, and a place that cannot be reached, are one line, and make no folder."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"s3:a\.csv is not complete: write s3://"):
        list_files(None, ["s3:a.csv"])
    for url in ("ftp://host/a.csv", "x:/a.csv"):
        with pytest.raises(InputError, match=r"is a URL of an unknown kind"):
            list_files(None, [url])
    dataset = write_dataset(zipf(5, 3, size=2), tmp_path / "dataset")
    assert meshwright("plan", dataset, "--out", "plan").code == 0
    for words in (
        ("follow", "hdfs://nowhere:8020/in", "--out", "out"),
        ("follow", "dataset", "--out", "hdfs://nowhere:8020/out"),
    ):
        assert "libhdfs" in meshwright(*words, "--once").complaint
    assert "libhdfs" in meshwright("ingest", "hdfs://nowhere:8020/a.csv", "--out", "out").complaint
    assert "libhdfs" in meshwright("plan", dataset, "--out", "hdfs://nowhere:8020/plan").complaint
    assert "libhdfs" in meshwright("verify", "hdfs://nowhere:8020/plan", dataset).complaint
    assert "unknown kind" in meshwright("route", "x://bucket/plan", dataset).complaint
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dataset", "plan"]


@pytest.mark.parametrize(
    "place", ["abfs://c@nowhere.dfs.core.windows.net/x", "abfss://c@nowhere.dfs.core.windows.net"]
)
def test_azure_without_credentials(place: str, tmp_path: Path) -> None:
    """It is one line too, where Arrow would end the process."""
    (tmp_path / "a.csv").write_text("node,topic\na,x\n")
    answer = process("ingest", tmp_path / "a.csv", "--out", place)
    assert answer.complaint.startswith(f"meshwright: error: {place} cannot be reached: ")


ONLY_PATHS = (
    "export plan --to json --out URL",
    "export plan --to mosquitto --out URL",
    "traffic rows.csv --out URL",
    "plan dataset --algorithm best --objective front --out URL",
    "churn plan dataset --out URL",
    "workload zipf --nodes 9 --topics 9 --out other --raw URL",
    "content workload --out URL",
    "compare dataset --chart URL/a.png",
    "reproduce podc07 --quick --out URL",
    "demo --out URL",
)


def test_folders_on_this_machine_have_no_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only a path is possible, a URL is refused in one line, and never becomes a folder `s3:`."""
    monkeypatch.chdir(tmp_path)
    write_dataset(zipf(5, 3, size=2), tmp_path / "dataset")
    (tmp_path / "rows.csv").write_text("publisher,topic,size,time\na,x,1,1\n")
    assert meshwright("plan", "dataset", "--out", "plan").code == 0
    assert meshwright("route", "plan", "dataset").code == 0
    for words in ONLY_PATHS:
        line = meshwright(*words.replace("URL", "s3://bucket/place").split()).complaint
        assert ("s3://bucket/place" in line and "URL" in line) or "no folder" in line, words
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dataset", "plan", "rows.csv"]


SERVER = """
import sys, time
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
server.start()
import boto3
host, port = server.get_host_and_port()
client = boto3.client("s3", endpoint_url=f"http://{host}:{port}", region_name="us-east-1")
client.create_bucket(Bucket="lake")
print(f"http://{host}:{port}", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def store() -> Iterator[dict[str, str]]:
    """Start an S3 service on loopback, and return the variables that lead to it."""
    pytest.importorskip("moto", reason="moto is not installed")
    keys = {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **keys},
        text=True,
    )
    try:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        address = next(line.strip() for line in lines if line.startswith("http://"))
        yield {**keys, "AWS_ENDPOINT_URL": address}
    finally:
        process.kill()
        process.communicate()


def run(store: dict[str, str], *words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command that sees the store."""
    command = [sys.executable, "-m", "meshwright", *map(str, words)]
    environment = {**os.environ, **store}
    return subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_an_object_store(store: dict[str, str], tmp_path: Path) -> None:
    """Datasets are written to S3 and read from it by later commands, with the same bytes as on disk."""
    (tmp_path / "a.csv").write_text("node,topic\na,x\nb,x\nb,y\n,z\n")
    up = run(store, "ingest", tmp_path / "a.csv", "--out", "s3a://lake/first", "--max-bad", "1", "--json")
    assert json.loads(up.stdout)["kept"] == 3, up.stderr
    down = run(store, "sample", "s3://lake/first", "--nodes", "9", "--out", "s3://lake/second", "--json")
    assert json.loads(down.stdout)["nodes"] == 2, down.stderr
    assert run(store, "plan", "s3://lake/first", "--out", tmp_path / "plan").returncode == 0
    assert run(store, "verify", tmp_path / "plan", "s3://lake/first").returncode == 0
    # With a cluster, executors read the dataset where it is.
    there = ("s3://lake/first", "--master", "local[2]")
    shown = run(store, "profile", *there, "--json")
    assert json.loads(shown.stdout)["profiles"][0]["subscriptions"] == 3, shown.stderr
    verified = run(store, "verify", tmp_path / "plan", *there)
    assert (verified.returncode, "complete" in verified.stdout) == (0, True), verified.stderr
    taken = run(store, "sample", *there, "--nodes", "9", "--out", tmp_path / "sample", "--json")
    assert json.loads(taken.stdout)["nodes"] == 2, taken.stderr
    again = run(
        store,
        "ingest",
        "s3://lake/first/nodes/*.parquet",
        "--node",
        "name",
        "--topic",
        "id",
        "--out",
        tmp_path / "ids",
    )
    assert again.returncode == 0, again.stderr
    for wrong in ("s3://nowhere/a.csv", "s3://lake/none.csv"):
        refused = run(store, "ingest", wrong, "--format", "csv", "--out", tmp_path / "other")
        assert refused.returncode == 2
        assert refused.stderr.count("\n") == 1
    taken = run(store, "ingest", tmp_path / "a.csv", "--out", "s3://lake/first/nodes", "--max-bad", "1")
    assert (taken.returncode, "holds something other" in taken.stderr) == (2, True)


@pytest.mark.slow
def test_objects_of_any_name(store: dict[str, str], tmp_path: Path) -> None:
    """Objects are read by the names that they have: none is taken for another, for a glob or an option."""
    from pyarrow.fs import S3FileSystem

    scheme, _, host = store["AWS_ENDPOINT_URL"].partition("://")
    system = S3FileSystem(access_key="key", secret_key="secret", scheme=scheme, endpoint_override=host)
    names = ["a b", "a%20b", "ü", "p+q", "q#1", "q?2", "[z]", "{ab}", "*", "x/y", "_hidden"]
    for name in names:
        with system.open_output_stream(f"lake/odd/{name}.csv") as file:
            file.write(f"node,topic\n{name},x\n".encode())
    for number, source in enumerate(("s3://lake/odd", "s3://lake/odd/**/*.csv")):
        assert run(store, "ingest", source, "--out", tmp_path / str(number)).returncode == 0
        assert set(load_interest(tmp_path / str(number)).node_names.to_pylist()) == {*names} - {"_hidden"}
    for number, (source, name) in enumerate({"a b": "a b", "a%20b": "a b", "a%2520b": "a%20b"}.items()):
        assert (
            run(store, "ingest", f"s3://lake/odd/{source}.csv", "--out", tmp_path / f"one{number}").returncode
            == 0
        )
        assert load_interest(tmp_path / f"one{number}").node_names.to_pylist() == [name]


@pytest.mark.slow
def test_plans_in_an_object_store(store: dict[str, str], tmp_path: Path) -> None:
    """Plans are made, verified, routed, reported, exported and replaced at URLs, with the bytes of a disk."""
    dataset = write_dataset(zipf(40, 9, size=3, seed=2), tmp_path / "dataset")
    url, here = "s3a://lake/plans/low", tmp_path / "low"
    commands: list[list[object]] = [
        ["plan", dataset, "--algorithm", "low", "--certify", "--out", "PLAN"],
        ["verify", "PLAN", dataset],
        ["route", "PLAN", dataset],
        ["verify", "PLAN", dataset],
        ["report", "PLAN", dataset],
        ["route", "PLAN", dataset, "--objective", "stable", "--today", "PLAN"],
        ["soc", "PLAN", dataset, "--degree", "99", "--cost", "9999"],
        ["diff", "PLAN", "PLAN"],
    ]
    for words in commands:
        answers = [
            run(store, *(place if word == "PLAN" else word for word in words)) for place in (url, here)
        ]
        assert [answer.returncode for answer in answers] == [0, 0], answers[0].stderr
        assert answers[0].stdout.replace(url, str(here)) == answers[1].stdout or words[0] == "plan"
    got = keys(store, "plans/low/")
    assert sorted(got) == sorted(file.name for file in here.iterdir())
    for name in got:
        if name != "plan.json":  # it has the seconds that the design took
            assert got[name] == (here / name).read_bytes(), name
    for place, out in ((url, "there"), (here, "here")):
        for kind in ("json", "mosquitto"):
            assert run(store, "export", place, "--to", kind, "--out", tmp_path / out / kind).returncode == 0
    assert (tmp_path / "there/json/export.json").stat().st_size > 1000
    texts = [(tmp_path / out / "mosquitto/n0/mosquitto.conf") for out in ("there", "here")]
    assert len({text.read_bytes() for text in texts if text.exists()}) <= 1
    # Another plan is refused; with --force it replaces this one.
    other = ["plan", dataset, "--algorithm", "gm", "--out", url]
    refused = run(store, *other)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert f"{url} holds a plan that differs" in refused.stderr
    assert run(store, *other, "--force").returncode == 0
    assert sorted(keys(store, "plans/low/")) == ["edges.parquet", "plan.json"]
    assert run(store, "verify", url, dataset).returncode == 0


@pytest.mark.slow
def test_wrong_plans_in_an_object_store(store: dict[str, str], tmp_path: Path) -> None:
    """What is not a plan, is damaged or cannot be reached is one line that names the URL."""
    dataset = write_dataset(zipf(20, 5, size=3, seed=2), tmp_path / "dataset")
    assert run(store, "plan", dataset, "--out", "s3://lake/wrong/plan").returncode == 0
    put(store, "wrong/other/a.txt", b"text")
    put(store, "wrong/half/edges.parquet", keys(store, "wrong/plan/")["edges.parquet"])
    lines = {
        ("plan", dataset, "--out", "s3://lake/wrong/other"): "wrong/other holds something other than a plan",
        ("plan", dataset, "--out", "s3://nowhere/plan"): "there is no bucket nowhere",
        ("verify", "s3://lake/wrong/none", dataset): "nothing is at s3://lake/wrong/none/plan.json",
        ("verify", "s3://lake/wrong/half", dataset): "nothing is at s3://lake/wrong/half/plan.json",
    }
    for words, line in lines.items():
        done = run(store, *words)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
        assert line in done.stderr
    # What a killed writer leaves is replaced.
    assert run(store, "plan", dataset, "--out", "s3://lake/wrong/half").returncode == 0
    assert run(store, "verify", "s3://lake/wrong/half", dataset).returncode == 0
    put(store, "wrong/plan/edges.parquet", keys(store, "wrong/plan/")["edges.parquet"][:-9] + b"?" * 9)
    done = run(store, "verify", "s3://lake/wrong/plan", dataset)
    assert done.returncode == 1
    assert "wrong: edges.parquet has changed since plan.json was written" in done.stdout
    done = run(store, "report", "s3://lake/wrong/plan", dataset, "--out", tmp_path / "page.html")
    assert done.returncode == 2
    assert "s3://lake/wrong/plan/edges.parquet is damaged: it has changed since" in done.stderr
    (tmp_path / "empty").mkdir()
    gone = {**store, "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    done = run(gone, "verify", "s3://lake/wrong/plan", dataset)
    assert (done.returncode, done.stderr.count("\n"), "cannot be reached" in done.stderr) == (2, 1, True)


@pytest.mark.slow
def test_plans_in_an_object_store_on_spark(store: dict[str, str], tmp_path: Path) -> None:
    """Executors read the links of a plan where they are."""
    dataset = write_dataset(zipf(40, 9, size=3, seed=2), tmp_path / "dataset")
    assert run(store, "plan", dataset, "--out", "s3://lake/spark").returncode == 0
    done = run(store, "verify", "s3://lake/spark", dataset, "--master", "local[2]")
    assert (done.returncode, "complete" in done.stdout) == (0, True), done.stderr


@pytest.mark.slow
def test_following_in_an_object_store(store: dict[str, str], tmp_path: Path) -> None:
    """Files and events may be in S3; a second run continues, and no folder appears on this machine."""
    dataset = write_dataset(Interest.from_dict({"oslo": {"x"}}), tmp_path / "dataset")
    words = ["follow", "s3://lake/follow/in", "--format", "csv", "--once", "--out", "s3a://lake/follow/out"]
    words += ["--start", str(dataset), "--master", "local[2]", "--json"]
    rows = b"rome,y,subscribe,1\noslo,x,unsubscribe,2\n,y,,3\n"
    put(store, "follow/in/1.csv", b"node,topic,operation,time\n" + rows)
    done = run(store, *words, cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout or "{}").get("events")) == (0, 2), done.stderr
    put(store, "follow/in/2.csv", b"node,topic,operation,time\nrome,z,subscribe,3\nrome,y,subscribe,1\n")
    for batches in (1, 0):
        done = run(store, *words, cwd=tmp_path)
        assert (done.returncode, json.loads(done.stdout or "{}").get("batches")) == (0, batches), done.stderr
    kept = keys(store, "follow/out/")
    texts = b"".join(kept[name] for name in sorted(kept) if name.startswith("events/"))
    lines = [json.loads(line) for line in texts.splitlines()]
    assert [(line["sequence"], line["event"], line["node"], line["topics"]) for line in lines] == [
        (0, "join", "rome", ["y"]),
        (1, "leave", "oslo", []),
        (2, "subscribe", "rome", ["z"]),
    ]
    assert json.loads(kept["quarantine/batch-00000000.jsonl"])["reason"]
    assert [path.name for path in tmp_path.iterdir()] == ["dataset"]


def _system(store: dict[str, str]) -> Any:
    from pyarrow import fs

    return fs.S3FileSystem(
        access_key=store["AWS_ACCESS_KEY_ID"],
        secret_key=store["AWS_SECRET_ACCESS_KEY"],
        region=store["AWS_REGION"],
        endpoint_override=store["AWS_ENDPOINT_URL"],
    )


def keys(store: dict[str, str], under: str) -> dict[str, bytes]:
    """Return the objects under a prefix of the bucket: name and content."""
    from pyarrow import fs

    system = _system(store)
    found = system.get_file_info(fs.FileSelector(f"lake/{under}".rstrip("/"), recursive=True))
    return {
        info.path.removeprefix(f"lake/{under}"): system.open_input_file(info.path).read()
        for info in found
        if info.type == fs.FileType.File
    }


def put(store: dict[str, str], key: str, content: bytes) -> None:
    """Write an object."""
    with _system(store).open_output_stream(f"lake/{key}") as file:
        file.write(content)
