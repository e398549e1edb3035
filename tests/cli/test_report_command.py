"""`meshwright report` and `advise`: a page is written, and bad input gives one line."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from meshwright.cli import check
from small_datasets import planned, subscriptions_file
from terminal import meshwright

CHECKOUT = Path(__file__).parents[2]
ROWS = "node,topic\nberlin,rain\nberlin,wind\noslo,rain\nrome,wind\nrome,sun\nparis,sun\n"


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with subscriptions, a plan of them and the bridges of today."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bridges.csv").write_text("u,v\nberlin,oslo\noslo,rome\n")
    made = subscriptions_file(tmp_path, ROWS)
    planned(made)
    return made


@pytest.mark.usefixtures("source")
def test_the_examples_and_the_page_of_the_docs_run() -> None:
    """What the help and docs/report.md show can be typed."""
    text = (CHECKOUT / "docs" / "report.md").read_text(encoding="utf-8")
    shown = re.findall(r"^(meshwright .*?) *(?:#.*)?$", text, re.MULTILINE)
    assert len(shown) >= 3
    for example in (*check.REPORT_EXAMPLES, *shown):
        if example.startswith("meshwright plan "):
            shutil.rmtree("plan")  # another plan is there
        answer = meshwright(*shlex.split(example)[1:])
        assert (answer.code, answer.err) == (0, ""), example
    assert Path("plan/report.html").is_file()
    assert "the bridges of today" in Path("federation.html").read_text(encoding="utf-8")


def test_the_answer(source: Path) -> None:
    """The answer names the page and the verdict, as text and as JSON."""
    answer = meshwright("report", "plan", source, "--out", "page.html")
    assert answer.out == "verified\nwritten to page.html\n"
    found = meshwright("report", "plan", source, "--json").json
    assert (found["report"], found["verified"]) == ("plan/report.html", True)


def test_a_plan_that_is_not_verified(source: Path) -> None:
    """The page of a plan that is not what it states is written, and the exit code is 1."""
    header = json.loads(Path("plan/plan.json").read_text(encoding="utf-8"))
    header["figures"]["edges"] += 1
    Path("plan/plan.json").write_text(json.dumps(header), encoding="utf-8")
    answer = meshwright("report", "plan", source)
    assert (answer.code, answer.out) == (1, "NOT verified: the page says why\nwritten to plan/report.html\n")
    assert "NOT verified" in Path("plan/report.html").read_text(encoding="utf-8")
    answer = meshwright("report", "plan", source, "--json")
    assert (answer.code, answer.json["verified"]) == (1, False)


def test_advise_writes_one(source: Path) -> None:
    """`advise` writes the page into the plan."""
    assert meshwright("advise", source, "--steps", "0", "--out", "taken").code == 0
    assert Path("taken/report.html").is_file()
    found = meshwright("advise", source, "--steps", "0", "--out", "taken", "--json").json
    assert found["report"] == "taken/report.html"
    assert Path("taken/report.html").read_text(encoding="utf-8").endswith("</html>\n")
    assert meshwright("plan", source, "--algorithm", "low", "--out", "taken", "--force").code == 0
    assert not Path("taken/report.html").exists()  # of another plan


def test_bad_input(source: Path) -> None:
    """Missing plans, other datasets, bad places and bad bridges give one line each."""
    Path("other.csv").write_text("node,topic\na,x\n")
    for words, line in (
        (["report", "none", source], "nothing is there"),
        (["report", "plan", "other.csv"], "another dataset"),
        (["report", "plan", source, "--out", "plan"], "is a folder"),
        (["report", "plan", source, "--out", "nowhere/page.html"], "make it first"),
        (["report", "plan", source, "--today", "none.csv"], "no bridges none.csv"),
    ):
        assert line in meshwright(*words).complaint, words


def test_unknown_brokers_of_today_are_noted(source: Path) -> None:
    """Bridges to brokers that are not in the dataset are counted on stderr and on the page."""
    Path("bridges.csv").write_text("u,v\nberlin,oslo\nrome,atlantis\n")
    answer = meshwright("report", "plan", source, "--today", "bridges.csv")
    assert "left out 1 of the bridges" in answer.err
    assert "1 bridge of today left out" in Path("plan/report.html").read_text(encoding="utf-8")
