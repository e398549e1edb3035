"""Plans over plans: an equal one changes nothing, a different one needs --force and says what goes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import meshwright as mw
from meshwright.store.plan_writer import check_replaced
from object_store import folder_as_store
from terminal import Answer, meshwright

ROWS = "node,topic\n" + "".join(f"b{number},t{number % 7}\nb{number},u{number % 5}\n" for number in range(12))
KINDS = ("nodes", "topics", "subscriptions", "quarantine")


def run(line: str) -> Answer:
    """Run a command."""
    return meshwright(*line.split())


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return the content and the time of every file."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file): (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


@pytest.fixture
def planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a plan that has trees, a page and a file of its user."""
    monkeypatch.chdir(tmp_path)
    Path("s.csv").write_text(ROWS)
    for line in ("plan s.csv --out q --certify", "route q s.csv", "report q s.csv"):
        assert run(line).code == 0
    Path("q", "notes.txt").write_text("mine")
    return tmp_path / "q"


def test_the_same_plan_again_changes_nothing(planned: Path) -> None:
    """Trees, page, notes and times of files stay, and no note says that something is gone."""
    before = state(planned)
    for more in ("", "--force", "--threads 2"):
        answer = run(f"plan s.csv --out q --certify {more}")
        assert (answer.code, answer.err) == (0, "")
        assert state(planned) == before


@pytest.mark.parametrize(
    ("words", "what"),
    [("--algorithm low --certify", "algorithm"), ("--seed 4 --certify", "seed"), ("", "certificate")],
)
def test_a_different_plan_needs_force_and_says_what_goes(planned: Path, words: str, what: str) -> None:
    """The refusal names the difference and the parts that would go; so does the plan once it is forced."""
    before = state(planned)
    line = run(f"plan s.csv --out q {words}").complaint
    assert f"q holds a plan that differs in {what}: choose another path, or replace it, with its " in line
    assert "certificate and its trees and its page, with --force" in line
    assert state(planned) == before
    forced = run(f"plan s.csv --out q {words} --force")
    assert forced.code == 0
    assert "trees" in forced.err
    assert "a page" in forced.err
    assert {"notes.txt"} == {file.name for file in planned.iterdir()} & {"notes.txt", "report.html"}


def test_other_links_are_another_plan(planned: Path) -> None:
    """Also with the same parameters, as after an upgrade; a damaged plan is simply written again."""
    made = mw.load(planned, mw.load("s.csv"))
    fewer = mw.Plan(made.overlay.prefix(3), "gm", dict(made.parameters), 0, 0.0)
    with pytest.raises(OSError, match=r"differs in links: .* certificate and its trees and its page, with"):
        check_replaced(planned, made.overlay.interest.fingerprint, "gm", fewer)
    (planned / "edges.parquet").write_bytes(b"PAR1")
    assert run("plan s.csv --out q --certify").code == 0
    assert len(mw.read_plan(planned).edges) == len(made.overlay)


def test_a_search_by_the_clock_is_refused_before_it_starts(planned: Path) -> None:
    """It may find other links each time, so it never runs for nothing; by steps, it changes nothing."""
    best = "plan s.csv --out q --algorithm best"
    assert run(f"{best} --seconds 0.2 --force").code == 0
    assert "a search by the clock may find others" in run(f"{best} --seconds 9999").complaint
    assert run(f"{best} --steps 5 --force").code == 0
    before = state(planned)
    assert run(f"{best} --steps 5").code == 0
    assert state(planned) == before


def test_the_same_holds_at_urls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is sent for an equal plan, and files of others below the URL are not touched."""
    folder_as_store(tmp_path / "store", monkeypatch)
    monkeypatch.chdir(tmp_path)
    bucket = tmp_path / "store" / "bucket"
    for folder in ("q/sub", "ds/own", *(f"ds/{kind}" for kind in KINDS)):
        (bucket / folder).mkdir(parents=True)
    Path("s.csv").write_text(ROWS)
    lines = (
        "ingest s.csv --out s3://bucket/ds",
        "plan s.csv --out s3://bucket/q",
        "route s3://bucket/q s.csv",
    )
    for line in lines:
        assert run(line).code == 0
    names = ("q/notes.txt", "q/sub/x.parquet", "ds/own/notes.txt", "ds/report.html", "ds/nodes/notes.txt")
    for name in names:
        (bucket / name).write_text("mine")
    before = state(bucket / "q")
    assert run("plan s.csv --out s3://bucket/q").code == 0
    assert state(bucket / "q") == before
    line = run("plan s.csv --out s3://bucket/q --algorithm low").complaint
    assert "differs in algorithm: choose another path, or replace it, with its trees, with --force" in line
    assert run("plan s.csv --out s3://bucket/q --algorithm low --force").code == 0
    Path("s.csv").write_text(ROWS + "new,t1\n")
    assert run("ingest s.csv --out s3://bucket/ds").code == 0
    assert [(bucket / name).read_text() for name in names] == ["mine"] * len(names)
    assert not (bucket / "q" / "trees.parquet").exists()
    assert json.loads((bucket / "ds" / "manifest.json").read_text())["counts"]["nodes"] == 13
