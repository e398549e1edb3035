"""`meshwright reproduce`: its answers, its JSON, and its refusals."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from experiments import toy
from meshwright.cli import trials
from meshwright.experiments.paper import KEYS, papers
from terminal import meshwright

FIELDS = ["id", "paper", "figure", "claim", "paper_value", "ours", "verdict", "reason"]


@pytest.fixture
def _toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the toy be the only paper."""
    monkeypatch.setattr("meshwright.experiments.paper.papers", lambda: {"toy": toy.PAPER})


@pytest.mark.usefixtures("_toy")
def test_json_has_exactly_the_promised_shape(tmp_path: Path) -> None:
    """Counts and checks, nothing else; the exit code is 0 though a claim fails."""
    answer = meshwright("reproduce", "toy", "--out", tmp_path / "out", "--json")
    assert (answer.code, answer.err) == (0, "")
    assert list(answer.json) == ["claims", "holds", "partly", "no", "checks"]
    assert answer.json["claims"] == 4 == sum(answer.json[name] for name in ("holds", "partly", "no"))
    for check in answer.json["checks"]:
        assert list(check) == FIELDS
        assert all(isinstance(value, str) for value in check.values())
        assert bool(check["reason"]) == (check["verdict"] != "holds")


@pytest.mark.usefixtures("_toy")
def test_people_get_a_table_and_the_page(tmp_path: Path) -> None:
    """Every check with its verdict, the counts, and where the page is."""
    answer = meshwright("reproduce", "all", "--quick", "--out", tmp_path / "out")
    assert answer.code == 0
    assert "toy/fig1/rises" in answer.out
    assert "4 claims: 2 hold, 0 partly, 2 do not; 4 of 4 cells computed now" in answer.out
    assert "reproduction.html" in answer.out


@pytest.mark.usefixtures("_toy")
def test_refusals_are_one_line(tmp_path: Path) -> None:
    """Unknown keys, no folder, and graphs that are missing or malformed."""
    out = tmp_path / "out"
    graph = tmp_path / "graph.csv"
    graph.write_text("node,topic\n,b\n")
    for words, said in (
        (["toi", "--out", out], "no paper 'toi': did you mean toy? there are toy, all"),
        (["toy/fig3", "--out", out], "no figure of toy 'fig3': did you mean fig2? there are fig1, fig2"),
        (["toy"], "no folder for the results: add --out DIR"),
        (["toy", "--out", out, "--graph", "friends"], "--graph 'friends': give NAME=PATH"),
        (["toy", "--out", out, "--graph", "friends=none.csv"], "--graph friends: no file or folder none.csv"),
        (["toy", "--out", out, "--graph", f"friends={graph}"], "no node name in row 1"),
        (["toy", "--out", out, "--graph", "foes=a.csv"], "no graph 'foes'"),
        (["toy", "--out", graph], "is a file, and a reproduction is a folder"),
    ):
        assert said in meshwright("reproduce", *map(str, words)).complaint
    assert not out.exists()


def test_the_list_names_every_figure() -> None:
    """`list` shows each paper and figure, also as JSON."""
    answer, document = meshwright("reproduce", "list"), meshwright("reproduce", "list", "--json").json
    for paper in papers().values():
        for figure in paper.figures:
            assert f"{paper.key}/{figure.key} " in answer.out
    assert [paper["key"] for paper in document["papers"]] == list(KEYS)


def test_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the help shows can be typed; the last example takes hours, so only its first words are checked."""
    monkeypatch.chdir(tmp_path)
    *short, _ = [*trials.REPRODUCE_EXAMPLES]
    for example in short:
        answer = meshwright(*shlex.split(example)[1:])
        assert answer.code == 0, answer.err
    assert Path("reproduction/reproduction.html").is_file()
