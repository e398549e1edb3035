"""Ingest gives the same bytes on every kind of cluster, with any hash seed, also if a worker dies."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from standalone import Worker, can_hide, standalone, wait

pytestmark = pytest.mark.slow

MASTERS = {"local[2]": "1", "local-cluster[2,1,1024]": "2"}
"""The masters, each with the hash seed of its run."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write events in several files, plain and compressed, some of them dirty."""
    folder = tmp_path_factory.mktemp("source")
    rng = np.random.default_rng(8)
    for number in range(6):
        names = zip(rng.integers(0, 5000, 20_000), rng.zipf(1.4, 20_000) % 900, strict=True)
        words = rng.choice(
            ["subscribe", "subscribe", "unsubscribe", "dance"], 20_000, p=[0.4, 0.4, 0.19, 0.01]
        )
        times = rng.integers(0, 1000, 20_000)
        rows = [f"n{u},t{t},{w},{at}\n" for (u, t), w, at in zip(names, words, times, strict=True)]
        text = ("node,topic,operation,time\n" + "".join(rows)).encode()
        name = f"{number}.csv" + (".gz" if number % 2 else "")
        (folder / name).write_bytes(gzip.compress(text) if number % 2 else text)
    return folder


def run(
    source: Path, out: Path, master: str, seed: str, doomed: Worker | None = None, *, late: bool = False
) -> dict[str, bytes]:
    """Ingest in a separate process, kill a busy worker, and return the bytes of every file."""
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "meshwright",
        "ingest",
        source,
        "--format",
        "csv",
        "--out",
        out,
        "--master",
        master,
    ]
    # Small blocks give many tasks.
    settings = ["--conf", "spark.sql.files.maxPartitionBytes=150000", "--conf", "spark.driver.host=127.0.0.1"]
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    process = subprocess.Popen(
        [*command, *settings], env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        if doomed is not None:

            def has_begun() -> bool:
                # The hidden folder appears when the executors begin to write.
                if late:
                    return any(out.parent.glob(".out.writing-*/subscriptions"))
                return doomed.is_busy()

            wait(lambda: has_begun() or process.poll() is not None)
            assert process.poll() is None
            doomed.kill()
        _, err = process.communicate(timeout=1500)
    finally:
        process.kill()
    assert process.returncode == 0, err.decode()[-3000:]
    return {
        str(file.relative_to(out)): file.read_bytes() for file in sorted(out.rglob("*")) if file.is_file()
    }


@pytest.fixture(scope="module")
def expected(source: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Ingest on one core."""
    return run(source, tmp_path_factory.mktemp("expected") / "out", "local[1]", "7")


@pytest.mark.parametrize(("master", "seed"), list(MASTERS.items()))
def test_every_master_gives_the_same(
    source: Path, expected: dict[str, bytes], tmp_path: Path, master: str, seed: str
) -> None:
    """The manifest, the tables and the quarantine have the same bytes on every master."""
    assert run(source, tmp_path / "out", master, seed) == expected


@pytest.mark.parametrize("killing", ["", "reading", "writing"])
def test_a_real_cluster_gives_the_same(
    source: Path, expected: dict[str, bytes], tmp_path: Path, killing: str
) -> None:
    """A master with two workers gives the same, also if one is killed while it reads or writes."""
    (tmp_path / "logs").mkdir()
    with standalone(tmp_path / "logs") as cluster:
        doomed = cluster.workers[0] if killing else None
        late = killing == "writing"
        assert run(source, tmp_path / "out", cluster.master, "3", doomed, late=late) == expected
        assert (cluster.workers[0].process.poll() is None) == (not killing)


@pytest.mark.skipif(not can_hide(), reason="needs the right to unshare mounts")
def test_workers_that_do_not_see_a_folder(tmp_path: Path) -> None:
    """Workers on other machines, without the folder: one line says that they cannot see it, and where."""
    hidden, seen, logs = (tmp_path / name for name in ("hidden", "seen", "logs"))
    for folder in (hidden, seen, logs):
        folder.mkdir()
        (folder / "a.csv").write_text("publisher,node,topic,size,time\na,a,x,1,1\nb,b,x,1,9\n")
    here: list[str | Path] = [sys.executable, "-m", "meshwright"]
    subprocess.run([*here, "ingest", hidden / "a.csv", "--out", hidden / "dataset"], check=True)
    subprocess.run([*here, "ingest", hidden / "a.csv", "--out", seen / "dataset"], check=True)
    subprocess.run([*here, "plan", hidden / "dataset", "--out", hidden / "plan"], check=True)
    with standalone(logs, 1, hidden=hidden) as cluster:
        commands: list[list[str | Path]] = [
            ["ingest", hidden / "a.csv", "--out", seen / "out"],
            ["ingest", seen / "a.csv", "--out", hidden / "out"],
            ["traffic", seen / "a.csv", "--out", hidden / "traffic"],
            ["profile", hidden / "dataset"],
            ["verify", hidden / "plan", seen / "dataset"],
        ]
        for words in commands:
            there = ["--master", cluster.master, "--conf", "spark.driver.host=127.0.0.1"]
            done = subprocess.run([*here, *words, *there], capture_output=True, text=True, check=False)
            [line] = done.stderr.strip().splitlines()
            assert (done.returncode, done.stdout) == (2, ""), line
            assert f"workers cannot see {hidden}" in line
    assert sorted(path.name for path in hidden.iterdir()) == ["a.csv", "dataset", "plan"]
    assert sorted(path.name for path in seen.iterdir()) == ["a.csv", "dataset"]
