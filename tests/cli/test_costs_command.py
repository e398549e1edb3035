"""`--costs`: plans by cost, tables with costs, and one clear line for each fault."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import meshwright as mw
from small_datasets import subscriptions_file
from terminal import meshwright

GOOD = "node,topic\na,x\nb,x\nb,y\nc,y\nc,x\n"
PLACES = "node,x,y\na,0,0\nb,3,4\nc,3,5\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Write subscriptions of three brokers."""
    return subscriptions_file(tmp_path, GOOD)


@pytest.fixture
def places(source: Path) -> Path:
    """Write where they are."""
    path = source.parent / "places.csv"
    path.write_text(PLACES, encoding="utf-8")
    return path


@pytest.mark.parametrize("algorithm", ["gm", "low"])
def test_a_plan_with_costs(source: Path, places: Path, algorithm: str) -> None:
    """`plan --costs` makes the library's plan, states the total cost, and `verify --costs` finds it again."""
    out = source.parent / "plan"
    words: list[str | Path] = ["--algorithm", algorithm, "--costs", places, "--out", out]
    answer = meshwright("plan", source, *words, "--json")
    interest = mw.load_interest(source)
    expected = mw.design(interest, algorithm, costs=mw.load_costs(places, interest))
    assert (answer.code, answer.err) == (0, "")
    assert answer.json["total_cost"] == expected.figures["total_cost"] == 6.0
    assert answer.json["parameters"] == expected.stated_parameters
    assert mw.read_plan(out).figures["total_cost"] == 6.0
    assert "cost: 6 in all" in meshwright("plan", source, *words).out
    checked = meshwright("verify", out, source, "--costs", places)
    assert checked.code == 0
    assert "cost: 6 in all" in checked.out
    printed = meshwright("verify", out, source, "--costs", places, "--json").json
    assert (printed["total_cost"], printed["cost_checked"]) == (6.0, True)


def test_unchecked_costs_are_reported(source: Path, places: Path) -> None:
    """`verify` without --costs passes, and says that the total cost was not checked."""
    out = source.parent / "plan"
    assert meshwright("plan", source, "--costs", places, "--out", out).code == 0
    answer = meshwright("verify", out, source)
    assert answer.code == 0
    assert "not checked: the total cost of 6; give --costs" in answer.out
    printed = meshwright("verify", out, source, "--json").json
    assert (printed["verified"], printed["total_cost"], printed["cost_checked"]) == (True, None, False)
    assert meshwright("plan", source, "--force", "--out", out).code == 0
    assert "cost" not in meshwright("verify", out, source).out
    assert meshwright("verify", out, source, "--json").json["cost_checked"] is None


def test_a_false_total_is_no(source: Path, places: Path) -> None:
    """A plan that states another total cost fails, with both figures; other costs are bad input."""
    out = source.parent / "plan"
    assert meshwright("plan", source, "--costs", places, "--out", out).code == 0
    header = json.loads((out / "plan.json").read_text(encoding="utf-8"))
    header["figures"]["total_cost"] = 5.0
    (out / "plan.json").write_text(json.dumps(header), encoding="utf-8")
    answer = meshwright("verify", out, source, "--costs", places)
    assert answer.code == 1
    assert "wrong: total_cost is 6.0, the plan states 5.0" in answer.out
    places.write_text(PLACES.replace("3,5", "3,6"), encoding="utf-8")
    assert "other link costs" in meshwright("verify", out, source, "--costs", places).complaint


def test_compare_shows_what_all_designs_cost(source: Path, places: Path) -> None:
    """Every row has its total cost, also for designs that ignore costs; without --costs no row has one."""
    words: list[str | Path] = ["compare", source, "--algorithms", "gm,low,minmax,ring"]
    plans = meshwright(*words, "--costs", places, "--json").json["plans"]
    assert [plan["total_cost"] for plan in plans][:2] == [6.0, 6.0]
    assert all(plan["total_cost"] >= 6 for plan in plans)
    assert [sorted(plan["parameters"]) for plan in plans] == [["costs"], ["costs"], [], []]
    table = meshwright(*words, "--costs", places).out
    assert "total" in table
    assert "Greedy Merge (by cost)" in table
    assert "total" not in meshwright(*words).out
    assert "total_cost" not in meshwright(*words, "--json").json["plans"][0]


PAIRS = "u,v,cost\na,b,1\na,c,2\nb,c,1.5\n"


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        (PAIRS + "b,a,2\n", [], "('a', 'b', 1.0, 2.0) have two different costs"),
        (PAIRS.replace("b,c,1.5\n", ""), [], "no cost for ('b', 'c'), which share a topic"),
        (PAIRS.replace("1.5", "-1.5"), [], "('b', 'c', -1.5) are not finite numbers above zero"),
        (PAIRS.replace("1.5", "0"), [], "('b', 'c', 0.0) are not finite numbers above zero"),
        (PAIRS.replace("1.5", "nan"), [], "('b', 'c', nan) are not finite numbers above zero"),
        (PAIRS.replace("1.5", "inf"), [], "('b', 'c', inf) are not finite numbers above zero"),
        (PAIRS.replace("1.5", "dear"), [], "cost is 'dear' in row 3"),
        (PAIRS + "a,mars,1\n", [], "'mars' that the interest does not know"),
        (PLACES + "a,1,1\n", [], "nodes 'a' have more than one place"),
        (PLACES.replace("c,3,5\n", ""), [], "no place for nodes 'c'"),
        (PLACES.replace("3,5", "3,nan"), [], "places ('c', 3.0, nan) are not finite"),
        ("a,b\n1,2\n", [], "the columns are 'a', 'b': give u, v, cost"),
        ("", [], "is empty"),
        (PLACES, ["--rounds", "2"], "costs and rounds cannot be combined"),
        (PLACES, ["--algorithm", "ring"], "ring takes no --costs: leave it out, or take gm or low"),
    ],
)
def test_bad_costs(source: Path, places: Path, text: str, words: list[str], expected: str) -> None:
    """Each fault is one line with exit code 2, and nothing is written."""
    places.write_text(text, encoding="utf-8")
    out = source.parent / "plan"
    assert expected in meshwright("plan", source, "--costs", places, "--out", out, *words).complaint
    assert not out.exists()


def test_no_costs(source: Path) -> None:
    """A missing file of costs is named; --metric without costs is refused."""
    words: list[str | Path] = ["plan", source, "--out", source.parent / "plan"]
    assert "nowhere.csv" in meshwright(*words, "--costs", "nowhere.csv").complaint
    assert "--costs" in meshwright("compare", source, "--metric").complaint


def test_a_metric_passes(source: Path, places: Path) -> None:
    """Costs that keep the triangle inequality pass --metric, places always; a cheaper detour is refused."""
    for text in (PAIRS, PLACES):
        places.write_text(text, encoding="utf-8")
        assert meshwright("compare", source, "--costs", places, "--metric").code == 0
    places.write_text(PAIRS.replace("a,c,2", "a,c,9"), encoding="utf-8")
    refused = meshwright("compare", source, "--costs", places, "--metric")
    assert "'a' to 'c' costs 9.0, by way of 'b' only 1.0 + 1.5" in refused.complaint
