"""Sources and datasets by URL: a URL is never taken for a path, and object stores hold whole datasets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from meshwright import load_interest
from meshwright.errors import InputError, OutputError
from meshwright.files.atomic import check_place
from meshwright.pipeline.dataset.ingest import ingest
from meshwright.pipeline.readers.sources import list_files
from meshwright.store import read_plan, write_dataset
from meshwright.workloads import zipf
from terminal import meshwright


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
    """An unknown scheme, and a URL where only paths are possible, are one line, and make no folder."""
    monkeypatch.chdir(tmp_path)
    for url in ("ftp://host/a.csv", "x:/a.csv"):
        with pytest.raises(InputError, match=r"is a URL of an unknown kind"):
            list_files(None, [url])
    with pytest.raises(OutputError, match="is a URL"):
        check_place("s3a://bucket/plan")
    dataset = write_dataset(zipf(5, 3, size=2), tmp_path / "dataset")
    answer = meshwright("plan", dataset, "--out", "s3a://bucket/plan")
    assert (answer.code, answer.out) == (2, "")
    assert "is a URL" in answer.err
    for words in (("s3a://bucket/in", "--out", "out"), ("dataset", "--out", "s3a://bucket/out")):
        assert "is a URL" in meshwright("follow", *words, "--once").complaint
    assert "libhdfs" in meshwright("ingest", "hdfs://nowhere:8020/a.csv", "--out", "out").complaint
    assert [path.name for path in tmp_path.iterdir()] == ["dataset"]


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


def run(store: dict[str, str], *words: object) -> subprocess.CompletedProcess[str]:
    """Run a command that sees the store."""
    command = [sys.executable, "-m", "meshwright", *map(str, words)]
    return subprocess.run(command, env={**os.environ, **store}, capture_output=True, text=True, check=False)


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
