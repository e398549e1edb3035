"""`soc`: yes, no or unknown, with the figures that say so."""

from __future__ import annotations

from pathlib import Path

import pytest

import meshwright as mw
from calls import overlay_of
from meshwright.designs.plan import Plan
from terminal import meshwright

LINE = {"a": "x", "b": "y", "c": "y", "d": "y", "e": "x", "f": "z", "g": "z", "h": "z", "i": "x", "j": "w"}
"""On the line a … i the subscribers of x are three relays apart; j stands alone."""


def plan_of(folder: Path, edges: list[tuple[int, int]]) -> list[Path]:
    """Write a dataset and a plan of these links, and return the words that name them."""
    interest = mw.Interest.from_dict({node: [topic] for node, topic in LINE.items()})
    mw.write_dataset(interest, folder / "dataset")
    mw.write_plan(Plan(overlay_of(interest, edges), "gm", {"max_edges": 9}, 0, 0.0), folder / "plan")
    return [folder / "plan", folder / "dataset"]


@pytest.fixture
def line(tmp_path: Path) -> list[Path]:
    return plan_of(tmp_path, [(v, v + 1) for v in range(8)])


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--degree", "2", "--cost", "6"], "yes"),
        (["--degree", "2", "--cost", "5", "--measure", "filtering"], "unknown"),
        (["--degree", "2", "--cost", "3"], "no"),
        (["--degree", "1", "--cost", "6"], "no"),
        (["--degree", "2", "--cost", "8", "--measure", "diameter"], "yes"),
        (["--degree", "2", "--cost", "7", "--measure", "diameter"], "no"),
    ],
)
def test_yes_no_and_unknown(line: list[Path], words: list[str], answer: str) -> None:
    """The first word is the answer, the same as in JSON; the code is 0 for yes only."""
    printed, document = meshwright("soc", *line, *words), meshwright("soc", *line, *words, "--json")
    assert printed.out.startswith(f"{answer}: ")
    assert document.json["answer"] == answer
    assert {printed.code, document.code} == {0 if answer == "yes" else 1}
    assert printed.err == document.err == ""


def test_the_witness_figures(line: list[Path]) -> None:
    """Degree and cost are printed with their bounds, in total and for each topic."""
    words = ["--degree", "3", "--cost", "5"]
    document = meshwright("soc", *line, *words, "--json").json
    assert (document["max_degree"], document["degree"], document["cost"]) == (2, 3, 5)
    assert (document["at_least"], document["at_most"], document["unreachable_topics"]) == (4, 6, [])
    costs = {topic["topic"]: (topic["at_least"], topic["at_most"]) for topic in document["topics"]}
    assert costs == {"w": (0, 0), "x": (4, 6), "y": (0, 0), "z": (0, 0)}
    printed = meshwright("soc", *line, *words).out
    assert "filtering: 4 to 6 uninterested relays over all topics, 2.00 on average" in printed
    assert "costliest topics: 'x' 6\n" in printed


@pytest.mark.parametrize("measure", ["filtering", "diameter"])
def test_topics_that_nobody_can_join(tmp_path: Path, measure: str) -> None:
    """Where subscribers cannot reach each other the cost is infinite: no, and the topics are named."""
    split = plan_of(tmp_path, [(0, 1), (1, 2), (2, 3), (3, 4), (5, 6)])
    words = ["--degree", "9", "--cost", "99", "--measure", measure]
    document = meshwright("soc", *split, *words, "--json").json
    assert (document["answer"], document["unreachable_topics"]) == ("no", ["x", "z"])
    assert (document["at_least"], document["at_most"]) == (None, None)
    printed = meshwright("soc", *split, *words)
    assert printed.out.startswith("no: some topics are not connected\n")
    assert "infinite, as subscribers of 'x', 'z' cannot reach each other" in printed.out


def test_both_bounds_may_be_exceeded(line: list[Path]) -> None:
    """Each bound that does not hold is named, with the figure that is above it."""
    printed = meshwright("soc", *line, "--degree", "1", "--cost", "0").out
    assert printed.startswith(
        "no: the highest degree, 2, is above 1 and the filtering cost, at least 4, is above 0\n"
    )


def test_the_help_says_what_is_required() -> None:
    """The first argument is required, a plan or subscriptions; only the second may be left out."""
    shown = " ".join(meshwright("soc", "--help").out.split())
    assert "soc [OPTIONS] {PLAN|SUBSCRIPTIONS} [SUBSCRIPTIONS]" in shown
    assert shown.partition("Arguments:")[2].partition("Options:")[0].count("[required]") == 1


def test_the_diameter_says_which_paths_count(line: list[Path]) -> None:
    """The diameter of soc counts paths through any brokers, that of advise those of subscribers."""
    words = ["--degree", "9", "--cost", "9", "--measure", "diameter"]
    assert "links on the longest path, through any brokers, " in meshwright("soc", *line, *words).out
    for command, said in (("soc", "through any brokers"), ("advise", "through subscribers of it")):
        assert said in " ".join(meshwright(command, "--help").out.split())


def test_a_complete_plan_filters_nothing(tmp_path: Path) -> None:
    """A design that connects every topic answers yes at a filtering cost of 0, if its degree is allowed."""
    shape = ["--nodes", "40", "--topics", "8", "--size", "3"]
    assert meshwright("workload", "zipf", *shape, "--out", tmp_path / "dataset").code == 0
    assert meshwright("plan", tmp_path / "dataset", "--out", tmp_path / "plan").code == 0
    bounds = ["--degree", "40", "--cost", "0"]
    assert meshwright("soc", tmp_path / "plan", tmp_path / "dataset", *bounds).code == 0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--degree", "-1", "--cost", "1"], "degree"),
        (["--degree", "1", "--cost", "-1"], "cost"),
        (["--degree", "1"], "cost"),
        (["--degree", "many", "--cost", "1"], "--degree"),
        (["--degree", "1", "--cost", "1", "--measure", "delay"], "choose filtering or diameter"),
    ],
)
def test_bad_questions(line: list[Path], words: list[str], expected: str) -> None:
    """A negative, missing or misspelled bound and an unknown measure are bad input, not a no."""
    assert expected in meshwright("soc", *line, *words).complaint


def test_bad_plans(line: list[Path], tmp_path: Path) -> None:
    """A folder that is not a plan, or a plan made for other subscriptions, is bad input too."""
    bounds = ["--degree", "1", "--cost", "1"]
    plan, dataset = line
    assert "is not a plan" in meshwright("soc", dataset, dataset, *bounds).complaint
    assert "nowhere" in meshwright("soc", plan, tmp_path / "nowhere.csv", *bounds).complaint
    other = tmp_path / "other.csv"
    other.write_text("node,topic\na,x\nb,x\n", encoding="utf-8")
    assert "another dataset" in meshwright("soc", plan, other, *bounds).complaint


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--links", "6"], "yes"),
        (["--links", "5"], "no"),
        (["--degree", "2", "--cost", "0"], "yes"),
        (["--degree", "1", "--cost", "0"], "no"),
        (["--average-degree", "1.2", "--cost", "0"], "yes"),
        (["--average-degree", "1.1", "--cost", "0"], "no"),
        (["--degree", "2", "--cost", "1", "--measure", "diameter"], "yes"),
        (["--degree", "1", "--cost", "1", "--measure", "diameter"], "no"),
    ],
)
def test_whether_some_overlay_exists(line: list[Path], tmp_path: Path, words: list[str], answer: str) -> None:
    """Without a plan, yes comes with a plan that verifies, no with a reason; the code is 0 for yes only."""
    printed = meshwright("soc", line[1], *words, "--out", tmp_path / "witness")
    document = meshwright("soc", line[1], *words, "--json")
    assert printed.out.startswith(f"{answer}: ")
    assert document.json["answer"] == answer
    assert printed.out.startswith(document.json["reason"])
    assert {printed.code, document.code} == {0 if answer == "yes" else 1}
    assert (tmp_path / "witness").exists() == (answer == "yes")
    assert printed.out.endswith(f"written to {tmp_path / 'witness'}\n") == (answer == "yes")
    assert document.json["plan"] is None
    if answer == "yes":
        assert meshwright("verify", tmp_path / "witness", line[1]).code == 0
        assert document.json["witness"]["edges"] >= 6


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--links", "3", "--degree", "2"], "leave --degree out"),
        (["--degree", "3"], "give --cost"),
        (["--cost", "3"], "--degree or --average-degree"),
        (["--degree", "3", "--average-degree", "3", "--cost", "1"], "incomplete"),
        (["--degree", "3", "--cost", "1", "--measure", "delay"], "choose filtering or diameter"),
    ],
)
def test_incomplete_questions(line: list[Path], words: list[str], expected: str) -> None:
    """Limits that are missing or contradict each other are refused in one line."""
    assert expected in meshwright("soc", line[1], *words).complaint


def test_a_different_plan_is_replaced_only_on_request(line: list[Path], tmp_path: Path) -> None:
    """A witness takes the place of another plan with --force only."""
    out = tmp_path / "there"
    assert meshwright("plan", line[1], "--algorithm", "ring", "--out", out).code == 0
    before = (out / "plan.json").read_bytes()
    asked: list[str | Path] = ["soc", line[1], "--links", "6", "--out", out]
    assert "--force" in meshwright(*asked).complaint
    assert (out / "plan.json").read_bytes() == before
    assert meshwright(*asked, "--force").code == 0
    assert (out / "plan.json").read_bytes() != before


def test_questions_about_a_plan_take_no_search(line: list[Path], tmp_path: Path) -> None:
    """Options of a search are refused where there is a plan."""
    for words in (["--links", "3"], ["--degree", "1", "--cost", "1", "--out", tmp_path / "witness"]):
        assert "leave the plan out" in meshwright("soc", *line, *words).complaint
