"""Plans and verdicts are the same on every kind of cluster, also if a worker dies."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline.cluster_program import expectation
from standalone import Worker, standalone, wait

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("cluster_program.py")


def run(master: str, folder: Path, stage: str = "", doomed: Worker | None = None) -> dict[str, Any]:
    """Run the program on a cluster, kill a worker during a stage, and return the answers."""
    process = subprocess.Popen(
        [sys.executable, PROGRAM, master, folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        if doomed is not None:
            wait(lambda: ((folder / stage).exists() and doomed.is_busy()) or process.poll() is not None, 600)
            assert process.poll() is None
            doomed.kill()
        out, err = process.communicate(timeout=600)
    finally:
        process.kill()
    assert process.returncode == 0, err[-3000:]
    answers: dict[str, Any] = json.loads(out.splitlines()[-1])
    return answers


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    """Plan without Spark."""
    return expectation()


@pytest.mark.parametrize("master", ["local[1]", "local[2]", "local-cluster[2,1,1024]"])
def test_every_master_gives_the_same(master: str, tmp_path: Path, expected: dict[str, Any]) -> None:
    """Edges, contributions and verdicts equal those of one process."""
    answers = run(master, tmp_path)
    assert answers | expected == answers


@pytest.mark.parametrize("stage", ["plan", "verify", ""])
def test_a_real_cluster_gives_the_same(stage: str, tmp_path: Path, expected: dict[str, Any]) -> None:
    """A master with two workers gives the same, also if one is killed while it runs a task."""
    (tmp_path / "logs").mkdir()
    with standalone(tmp_path / "logs") as cluster:
        answers = run(cluster.master, tmp_path, stage, cluster.workers[0] if stage else None)
        assert (cluster.workers[0].process.poll() is None) == (not stage)
    assert answers | expected == answers
