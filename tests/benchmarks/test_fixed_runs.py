"""Fixed runs: data count for a digest, words for people and durations do not."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from benchmarks.fixed_runs.__main__ import compare, main, record
from benchmarks.fixed_runs.data import DIGITS, as_text, digest, files
from benchmarks.fixed_runs.inputs import RUNS, command
from benchmarks.golden import Golden

import meshwright as mw


def test_every_run_has_a_digest() -> None:
    """The recorded digests are those of the registered runs."""
    recorded = Golden("fixed_runs").answers
    assert set(recorded) == set(RUNS)
    assert len(RUNS) > 60
    assert all(len(it) == DIGITS for it in recorded.values())


def test_data_count() -> None:
    """Edges, their order, figures and names of columns change the digest."""
    interest = mw.Interest.from_dict({"a": ["x", "y"], "b": ["x"], "c": ["y"]})
    overlay = mw.design(interest, "gm").overlay
    table = pa.table({"u": [1, 2]})
    texts = [overlay, overlay.prefix(1), {"links": 2}, {"links": 3}, table, table.rename_columns(["v"])]
    assert len({digest(as_text(it)) for it in texts}) == len(texts)
    assert as_text([1, 2]) != as_text([2, 1])
    assert as_text({"cost": 1.0}) != as_text({"cost": 1.0 + 1e-10})


def test_durations_and_rounding_errors_do_not_count() -> None:
    """Durations are left out, and floats are rounded to 12 digits."""
    first = {"edges": 3, "seconds": 1.0, "cost": 0.1 + 0.2}
    second = {"cost": 0.3, "edges": 3, "median_join_seconds": 9.0}
    assert as_text(first) == as_text(second)


def test_words_for_people_do_not_count(tmp_path: Path) -> None:
    """Guides and comments may be rewritten; settings, file names and data may not."""
    texts = []
    for comment, setting in (("why", "port 1"), ("because", "port 1"), ("why", "port 2")):
        (tmp_path / "plan.md").write_text(f"# Guide\n{comment}\n")
        (tmp_path / "mosquitto.conf").write_text(f"# {comment}\n{setting}\n")
        texts.append(as_text(files(tmp_path)))
    assert texts[0] == texts[1] != texts[2]
    (tmp_path / "plan.md").rename(tmp_path / "guide.md")
    assert as_text(files(tmp_path)) != texts[2]


def test_a_command_must_end_with_its_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run fails if a command succeeds where it must reject its input, or the other way round."""
    monkeypatch.chdir(tmp_path)
    assert command("plan missing.csv --out plan", 2) is None
    with pytest.raises(RuntimeError, match="ends with 2"):
        command("plan missing.csv --out plan")
    with pytest.raises(RuntimeError, match="ends with 0"):
        command("--version", 2)


def golden(folder: Path, answers: dict[str, str]) -> Golden:
    """Write a golden file and read it."""
    (folder / "made.json").write_text(json.dumps(answers))
    return Golden("made", folder)


def test_differences_are_printed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Runs that differ, are new or are missing give a line each and exit code 1."""
    recorded = {"same": "1", "other": "2", "gone": "3"}
    assert compare({"same": "1", "other": "x", "new": "4"}, golden(tmp_path, recorded)) == 1
    printed = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in printed[:-1]] == ["gone", "new", "other"]
    assert printed[-1] == "4 runs, 1 identical"
    assert compare(recorded, golden(tmp_path, recorded)) == 0
    assert compare({}, golden(tmp_path, {})) == 1


def test_what_a_pattern_selects_is_recorded(tmp_path: Path) -> None:
    """Recording replaces the answers within the pattern, drops gone ones, and refuses runs that failed."""
    some = golden(tmp_path, {"a/1": "old", "a/2": "gone", "b/1": "kept"})
    assert record({"a/1": "0" * DIGITS}, some, "a/*") == 0
    assert Golden("made", tmp_path).answers == {"a/1": "0" * DIGITS, "b/1": "kept"}
    assert record({"b/1": "ValueError: no"}, some, "b/*") == 1
    assert Golden("made", tmp_path).answers["b/1"] == "kept"


def test_a_pattern_selects_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`--only` runs what matches, and `--keep` writes its data."""
    assert main(["--only", "measure/deg*", "--keep", str(tmp_path / "kept")]) == 0
    assert capsys.readouterr().out == "1 runs, 1 identical\n"
    assert (tmp_path / "kept" / "measure" / "degrees.json").is_file()
