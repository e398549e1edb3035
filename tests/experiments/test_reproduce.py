"""A reproduction: cells run once, figures and checks come from files, and damage is named."""

from __future__ import annotations

import multiprocessing
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from experiments import toy
from meshwright.errors import FormatError, InputError, OutputError
from meshwright.experiments import paper, reproduce


@pytest.fixture(autouse=True)
def _toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the toy be the only paper."""
    monkeypatch.setattr(paper, "papers", lambda: {"toy": toy.PAPER})
    toy.calls.clear()


def cell_files(out: Path) -> list[Path]:
    return sorted((out / "cells").rglob("*.parquet"))


def test_a_reproduction_leaves_everything_it_promises(tmp_path: Path) -> None:
    """Cells, tables, figures, both pages and a description; counts add up to the claims."""
    made = reproduce("toy", tmp_path / "out")
    assert made.counts == {"claims": 4, "holds": 2, "partly": 0, "no": 2}
    left = {str(path.relative_to(made.out)) for path in made.out.rglob("*") if path.is_file()}
    cells = {str(path.relative_to(made.out)) for path in cell_files(made.out)}
    assert len(cells) == made.computed == 4
    assert left - cells == {
        "figures/toy-fig1.svg",
        "figures/toy-fig2.svg",
        "reproduction.html",
        "reproduction.json",
        "reproduction.md",
        "results/toy-fig1.parquet",
        "results/toy-fig2.parquet",
    }
    table = pq.read_table(made.out / "results" / "toy-fig1.parquet").to_pylist()
    assert table[0] == {"nodes": 20, "seed": 1, "degree": 31.0, "graph": None}


def test_a_killed_run_resumes(tmp_path: Path) -> None:
    """After a kill in the third cell, a second run computes the other two and nothing again."""
    out = tmp_path / "out"
    surroundings = {
        **os.environ,
        "TOY_KILLED": "1",
        "TOY_OUT": str(out),
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path]),
    }
    done = subprocess.run([sys.executable, toy.__file__], env=surroundings, check=False)
    assert done.returncode != 0
    assert len(cell_files(out)) == 2
    made = reproduce("toy", out)
    assert toy.calls == ["nodes = 40, seed = 1", "nodes = 40, seed = 2"]
    assert made.computed == 2
    assert reproduce("toy", out).computed == 0


def test_several_jobs_give_the_same_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells computed in other processes are those of this one, and none is computed here."""
    alone = reproduce("toy", tmp_path / "alone", graphs={"friends": {"a": {"x"}}})
    toy.calls.clear()
    monkeypatch.setattr("meshwright.experiments.reproduction.LITTLE", 0.0)
    both = reproduce("toy", tmp_path / "both", graphs={"friends": {"a": {"x"}}}, jobs=2)
    assert (both.computed, toy.calls) == (4, [])
    for name in ("results/toy-fig1.parquet", "figures/toy-fig1.svg"):
        assert (alone.out / name).read_bytes() == (both.out / name).read_bytes()
    assert multiprocessing.active_children() == []
    with pytest.raises(InputError, match="jobs is 0: give at least 1"):
        reproduce("toy", tmp_path / "none", jobs=0)


def test_a_full_run_uses_finished_quick_cells(tmp_path: Path) -> None:
    """Cells are known by what they depend on: equal ones are not computed again, others are."""
    assert reproduce("toy", tmp_path / "out").computed == 4
    assert reproduce("toy", tmp_path / "out", full=True).computed == 2
    assert reproduce("toy", tmp_path / "out", graphs={"friends": {"a": {"x"}}}).computed == 4


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    """Tables and figures of two runs are equal byte by byte."""
    for name in ("one", "two"):
        reproduce("toy", tmp_path / name)
    for file in ("results/toy-fig1.parquet", "figures/toy-fig1.svg"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


@pytest.mark.parametrize("damage", ["empty", "short", "changed", "other"])
def test_a_damaged_file_is_named(damage: str, tmp_path: Path) -> None:
    """Whatever happened to a results file, one line names it and says how to fix it; then it works again."""
    out = tmp_path / "out"
    reproduce("toy", out)
    first, second, *_ = cell_files(out)
    content = first.read_bytes()
    if damage == "other":
        pq.write_table(pq.read_table(second).replace_schema_metadata(None), first)
    elif damage == "changed":
        rows = pq.read_table(first)
        changed = rows.set_column(0, "degree", [[1.0]])
        pq.write_table(changed.replace_schema_metadata(rows.schema.metadata), first)
    else:
        first.write_bytes(b"" if damage == "empty" else content[: len(content) // 2])
    toy.calls.clear()
    with pytest.raises(FormatError, match=re.escape(f"{first} is damaged: delete the file and run")):
        reproduce("toy", out)
    assert toy.calls == []
    first.unlink()
    assert reproduce("toy", out).computed == 1
    assert first.read_bytes()[:4] == b"PAR1"


def test_a_raising_progress_ends_the_run(tmp_path: Path) -> None:
    """Progress counts cells, its share rises to 1, and what it raises ends the run with cells kept."""
    seen: list[tuple[int, float, str]] = []
    reproduce("toy", tmp_path / "out", progress=lambda *reported: seen.append(reported))
    assert [count for count, _, _ in seen] == [0, 1, 2, 3, 4]
    shares = [share for _, share, _ in seen]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)

    def stop(done: int, _: float, __: str) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce("toy", tmp_path / "stopped", progress=stop)
    assert len(cell_files(tmp_path / "stopped")) == 2


def test_bad_input_is_refused_before_any_cell_runs(tmp_path: Path) -> None:
    """Unknown keys and graphs, bad graph files and foreign folders: one line, and nothing runs."""
    out = tmp_path / "out"
    with pytest.raises(InputError, match="no paper 'tot': did you mean toy"):
        reproduce("tot", out)
    with pytest.raises(InputError, match="no figure of toy 'fig9': did you mean fig"):
        reproduce("toy/fig9", out)
    with pytest.raises(InputError, match="no graph 'freinds': did you mean friends"):
        reproduce("toy", out, graphs={"freinds": "x.csv"})
    with pytest.raises(InputError, match=r"--graph friends: no file or folder x\.csv"):
        reproduce("toy", out, graphs={"friends": "x.csv"})
    bad = tmp_path / "bad.csv"
    bad.write_text("who,whom\na,b\n")
    with pytest.raises(InputError, match=r"no column 'node'.*: rename its columns to node and topic$"):
        reproduce("toy", out, graphs={"friends": bad})
    assert not out.exists()
    with pytest.raises(OutputError, match="holds something other"):
        reproduce("toy", tmp_path)
    assert toy.calls == []


def test_one_figure_is_reproduced_alone(tmp_path: Path) -> None:
    """A figure that shares cells runs them, and has only its own checks."""
    made = reproduce("toy/fig2", tmp_path / "out")
    assert [check.id for check in made.checks] == ["toy/fig2/rises", "toy/fig2/high"]
    assert len(toy.calls) == 4
