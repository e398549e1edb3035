"""`content migrate` writes and prints what the run was, and rejects bad options."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from meshwright.content import synthetic
from meshwright.store.content.workloads import write_workload
from terminal import meshwright


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a small workload."""
    return write_workload(synthetic(80, 5, 10, seed=2), tmp_path_factory.mktemp("migrate") / "workload")


def test_migrate_writes_its_run(workload: Path, tmp_path: Path) -> None:
    """The folder holds steps and samples that agree with the figures, the assignment and a chart."""
    flow = ("--publications", "400", "--seconds", "1")
    words = (*flow, "--decline", "0.2", "--crashes", "1", "--seed", "3", "--json")
    answer = meshwright("content", "migrate", workload, *words, "--out", tmp_path / "run")
    assert (answer.code, answer.err) == (0, "")
    figures = answer.json
    assert figures["sound"]
    assert (figures["missing"], figures["twice"], figures["rises"], figures["crashes"]) == (0, 0, 0, 1)
    assert figures["cost"] < figures["cost_before"]
    steps = pq.read_table(tmp_path / "run" / "steps.parquet").to_pylist()
    assert sum(step["paid"] for step in steps) == figures["moves"]
    assert all(step["change"] < 0 for step in steps if step["paid"])
    assert steps[-1]["cost"] == pytest.approx(figures["cost"])
    samples = pq.read_table(tmp_path / "run" / "samples.parquet").to_pylist()
    assert samples[-1]["messages"] == figures["messages"]
    assert pq.read_table(tmp_path / "run" / "assignment.parquet").num_rows == 80
    assert (tmp_path / "run" / "migration.png").stat().st_size > 10_000
    again = meshwright("content", "migrate", workload, *words, "--out", tmp_path / "again")
    assert again.out == answer.out
    for name in ("steps.parquet", "samples.parquet", "migration.png"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "run" / name).read_bytes()


def test_migrate_prints_a_summary(workload: Path) -> None:
    """Without --json, the figures are printed in words."""
    answer = meshwright("content", "migrate", workload, "--publications", "50", "--start", "packing")
    assert answer.code == 0
    assert "no move pays any more" in answer.out
    assert "0 missing, 0 twice, 0 unexpected" in answer.out


def test_crashes_that_do_not_happen_are_reported(tmp_path: Path) -> None:
    """With too few moves for the crashes, the summary says how many brokers crashed of those asked for."""
    small = write_workload(synthetic(3, 2, 2, seed=1), tmp_path / "small")
    words = ("content", "migrate", small, "--publications", "20", "--crashes", "2")
    answer = meshwright(*words)
    assert answer.code == 0
    assert "brokers that crashed: 0 of 2 (too few moves to crash in)" in answer.out
    figures = meshwright(*words, "--json").json
    assert (figures["crashes"], figures["crashes_asked"]) == (0, 2)


def test_bad_options(workload: Path, tmp_path: Path) -> None:
    """Bad options are rejected in one line, before anything is written."""
    for words, complaint in (
        (["--transport", "pigeons"], "no transport 'pigeons': choose asyncio or mosquitto"),
        (["--decline", "2"], "probability 2.0: give 0 to 1"),
        (["--start", "nowhere"], "nowhere"),
    ):
        out = tmp_path / "never"
        assert complaint in meshwright("content", "migrate", workload, *words, "--out", out).complaint
        assert not out.exists()
