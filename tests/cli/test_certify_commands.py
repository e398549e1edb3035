"""Certificates, fronts and advice from the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from meshwright.bounds import prices
from meshwright.workloads import zipf
from terminal import meshwright


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a small synthetic dataset."""
    folder = tmp_path_factory.mktemp("certify") / "dataset"
    shape = ["--nodes", "40", "--topics", "12", "--min-size", "2", "--max-size", "8"]
    assert meshwright("workload", "unif", *shape, "--out", folder).code == 0
    return folder


def test_a_certified_plan(dataset: Path, tmp_path: Path) -> None:
    """`plan --certify` states its gap to the fewest links and keeps the prices; `verify` finds the same."""
    out = tmp_path / "plan"
    answer = meshwright("plan", dataset, "--certify", "--out", out)
    assert "above the fewest links possible" in answer.out
    assert (out / "prices.parquet").is_file()
    assert re.search(r"^time: \S+ m?s, and \S+ m?s for the certificate$", answer.out, re.MULTILINE)
    plain = meshwright("plan", dataset, "--out", tmp_path / "plain").out
    assert re.search(r"^time: \S+ m?s$", plain, re.MULTILINE)
    stated = meshwright("plan", dataset, "--certify", "--out", out, "--json").json
    found = meshwright("verify", out, dataset, "--json").json
    assert (found["lower_bound"], found["gap"]) == (stated["lower_bound"], stated["gap"])
    assert "the prices prove" in meshwright("verify", out, dataset).out


def test_a_tampered_certificate_fails(dataset: Path, tmp_path: Path) -> None:
    """A bound raised by hand is refused: the answer is no."""
    out = tmp_path / "plan"
    bound = meshwright("plan", dataset, "--certify", "--out", out, "--json").json["lower_bound"]
    text = (out / "plan.json").read_text()
    (out / "plan.json").write_text(text.replace(f'"lower_bound": {bound}', f'"lower_bound": {bound + 1}'))
    answer = meshwright("verify", out, dataset)
    assert answer.code == 1
    assert f"lower_bound is {bound}, the plan states {bound + 1}" in answer.out


def test_a_certificate_that_knows_the_degree(dataset: Path, tmp_path: Path) -> None:
    """A design that keeps degrees low states its gap at its degree and the lowest degree; `verify` agrees."""
    out = tmp_path / "plan"
    words = ["--algorithm", "minmax", "--certify", "--out", str(out)]
    answer = meshwright("plan", dataset, *words)
    stated = meshwright("plan", dataset, *words, "--json").json
    limit = f"above the fewest links possible with at most {stated['max_degree']} links per broker"
    lowest = f"no overlay that connects every topic has a maximum degree below {stated['degree_bound']}"
    assert stated["at_degree"] == stated["max_degree"] >= stated["degree_bound"]
    for text in (answer.out, meshwright("verify", out, dataset).out):
        assert limit in text
        assert lowest in text
    found = meshwright("verify", out, dataset, "--json").json
    for name in ("bound_at_degree", "gap_at_degree", "degree_bound"):
        assert found[name] == stated[name]


def test_a_limit_that_is_too_low_is_proven_so(dataset: Path, tmp_path: Path) -> None:
    """`gpm` under a limit that no overlay meets says so, and `advise` gives it as its reason."""
    words = ["--algorithm", "gpm", "--max-degree", "1", "--certify", "--out", str(tmp_path / "plan")]
    assert "at most 1 link per broker cannot connect every topic" in meshwright("plan", dataset, *words).out
    verified = meshwright("verify", tmp_path / "plan", dataset)
    assert verified.code == 0
    assert "at most 1 link per broker cannot connect every topic" in verified.out
    assert "with at most 1 link per broker" not in verified.out
    words = ["advise", str(dataset), "--max-degree", "1", "--steps", "0"]
    advice = meshwright(*words)
    assert advice.code == 1
    assert "(certified)" in advice.out
    assert "of all that keep within the limits, it connects the most" in advice.out
    assert "split" in advice.out
    plans = meshwright(*words, "--json").json["plans"]
    assert all((plan["diameter"] is None) == (plan["support"] < 1) for plan in plans)
    assert {plan["support"] < 1 for plan in plans} == {True, False}


def test_compare_has_a_column_for_it(dataset: Path) -> None:
    """`compare --certify` proves once, and states each design's gap."""
    words = ["--algorithms", "ring,cd2,gpm", "--max-degree", "2", "--certify"]
    assert "above the" in meshwright("compare", dataset, *words).out
    plans = meshwright("compare", dataset, *words, "--json").json["plans"]
    assert len({plan["lower_bound"] for plan in plans}) == 1
    assert plans[0]["gap"] > plans[1]["gap"] > 0
    assert "gap" not in plans[2]


def test_compare_says_that_a_limit_is_refuted(dataset: Path) -> None:
    """Under a limit that no overlay keeps to, the proof stands below the table, and only then."""
    words = ["compare", str(dataset), "--algorithms", "gm,minmax", "--certify"]
    refuted = meshwright(*words, "--max-degree", "1")
    lowest = meshwright(*words, "--max-degree", "1", "--json").json["plans"][0]["degree_bound"]
    line = f"certified: no overlay that connects every topic has a maximum degree below {lowest}"
    assert lowest > 1
    assert refuted.out.splitlines()[-1] == line
    assert "certified:" not in meshwright(*words).out


def test_a_front(dataset: Path, tmp_path: Path) -> None:
    """`plan --objective front` writes a plan for each row, each of which is verified."""
    words = ["--algorithm", "best", "--objective", "front", "--steps", "50", "--out", str(tmp_path / "front")]
    answer = meshwright("plan", dataset, *words, "--json")
    degrees = [plan["max_degree"] for plan in answer.json["plans"]]
    assert degrees == sorted(set(degrees))
    for degree in degrees:
        assert meshwright("verify", tmp_path / "front" / f"degree-{degree}", dataset).code == 0
    assert "front.png" in meshwright("plan", dataset, *words).out
    assert (tmp_path / "front" / "front.png").is_file()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--objective", "front"], "gm takes no --objective: leave it out, or take best or exact"),
        (["--algorithm", "best", "--objective", "front", "--k", "2"], "leave --k out"),
        (["--algorithm", "exact", "--objective", "front"], "choose edges or degree"),
    ],
)
def test_what_a_front_does_not_take(dataset: Path, words: list[str], expected: str) -> None:
    """Another algorithm, or a k: refused in one line, with nothing written."""
    assert expected in meshwright("plan", dataset, *words, "--out", dataset.parent / "front").complaint
    assert not (dataset.parent / "front").exists()


def test_advice(dataset: Path, tmp_path: Path) -> None:
    """`advise` names a design and the reasons, draws a chart and writes the plan."""
    words = ["--steps", "100", "--out", str(tmp_path / "plan"), "--chart", str(tmp_path / "advice.png")]
    answer = meshwright("advise", dataset, *words)
    assert answer.code == 0
    assert "take Best" in answer.out
    assert "above the fewest links possible" in answer.out
    assert meshwright("verify", tmp_path / "plan", dataset).code == 0
    assert (tmp_path / "advice.png").is_file()
    document = meshwright("advise", dataset, "--steps", "100", "--json").json
    assert document["plans"][document["chosen"]]["algorithm"] == "best"
    assert document["plans"][0]["redundant_edges"] >= 0


def test_advice_that_cannot_be_given(dataset: Path, tmp_path: Path) -> None:
    """If nothing meets the requirements the answer is no, with what the nearest plan lacks."""
    words = ["--diameter", "1", "--max-degree", "1", "--steps", "5", "--out", str(tmp_path / "plan")]
    answer = meshwright("advise", dataset, *words)
    assert answer.code == 1
    assert "take none" in answer.out
    assert "above 1" in answer.out
    assert not (tmp_path / "plan").exists()


def test_advice_within_limits(dataset: Path) -> None:
    """Limits too tight to connect every topic give the most support; diameters have a weaker certificate."""
    assert "- support" in meshwright("advise", dataset, "--max-edges", "10", "--steps", "0").out
    both = meshwright("advise", dataset, "--seconds", "1", "--steps", "1")
    assert "--seconds and --steps both limit the search: give one of them" in both.complaint
    assert "connect topics at all" in meshwright("advise", dataset, "--diameter", "2", "--steps", "5").out


def test_a_plan_that_is_replaced_loses_nothing_silently(dataset: Path, tmp_path: Path) -> None:
    """A note says which parts of the earlier plan the new one lacks, and how to make them again."""
    out = tmp_path / "plan"
    certified = ["plan", str(dataset), "--certify", "--out", str(out)]
    assert meshwright(*certified).err == meshwright(*certified).err == ""
    assert meshwright("route", out, dataset).code == 0
    assert meshwright(*certified).err == ""  # the same plan: its trees stay
    assert (out / "trees.parquet").is_file()
    other = meshwright(*certified, "--algorithm", "low", "--force")
    lost = f"the plan that was in {out} had trees, and this one does not: use meshwright route"
    assert (other.code, other.err) == (0, f"meshwright: {lost}\n")
    assert meshwright(*certified, "--force").code == 0
    assert meshwright("route", out, dataset).code == 0
    lost = "had a certificate and trees, and this one does not: use --certify and meshwright route"
    assert (
        "with its certificate and its trees, with --force"
        in meshwright("plan", dataset, "--out", out).complaint
    )
    assert lost in meshwright("plan", dataset, "--out", out, "--force").err
    assert meshwright("plan", dataset, "--out", out).err == ""


@pytest.fixture
def routed(tmp_path: Path) -> tuple[str, str]:
    """Return a plan with trees, and its dataset."""
    source, plan = str(tmp_path / "dataset"), str(tmp_path / "plan")
    sizes = ("--nodes", "60", "--topics", "30", "--size", "5")
    assert meshwright("workload", "zipf", *sizes, "--out", source).code == 0
    assert meshwright("plan", source, "--out", plan).code == 0
    assert meshwright("route", plan, source).code == 0
    return plan, source


def test_a_stopped_proof_is_said_and_continued(routed: tuple[str, str]) -> None:
    """The answer, the plan and the check say that time ended the proof; a second run improves it."""
    plan, source = routed
    said = "the certificate was stopped by the time limit: `meshwright certify` continues it"
    assert said in meshwright("certify", plan, source, "--seconds", "0").out
    before = json.loads((Path(plan) / "plan.json").read_text())
    assert before["figures"]["bound_rising"] == 0
    verified = meshwright("verify", plan, source)
    assert (verified.code, said in verified.out) == (0, True)
    edges, trees = ((Path(plan) / name).read_bytes() for name in ("edges.parquet", "trees.parquet"))
    answer = meshwright("certify", plan, source, "--json").json
    after = json.loads((Path(plan) / "plan.json").read_text())
    assert answer["lower_bound_before"] == before["figures"]["lower_bound"]
    assert after["figures"]["lower_bound"] == answer["lower_bound"] > answer["lower_bound_before"]
    assert "bound_rising" not in after["figures"]
    assert {**after, "figures": 0, "files": 0} == {**before, "figures": 0, "files": 0}
    assert (Path(plan) / "edges.parquet").read_bytes() == edges
    assert (Path(plan) / "trees.parquet").read_bytes() == trees
    verified = meshwright("verify", plan, source)
    assert (verified.code, "stopped" in verified.out) == (0, False)


def test_a_page_of_the_old_proof_is_removed(routed: tuple[str, str]) -> None:
    """The page says that the proof was stopped; a new proof removes it, and says so."""
    plan, source = routed
    assert meshwright("certify", plan, source, "--seconds", "0").code == 0
    assert meshwright("report", plan, source).code == 0
    page = Path(plan) / "report.html"
    assert "stopped by the time limit" in page.read_text()
    answer = meshwright("certify", plan, source)
    assert (answer.code, page.exists()) == (0, False)
    assert "report.html showed the certificate before" in answer.err


def test_a_bound_that_rises_gets_more_time() -> None:
    """Beyond its seconds the proof goes on as long as it gains, and then it was not stopped."""
    interest = zipf(60, 30, size=5, seed=1)
    stopped, full = prices(interest, seconds=0.0), prices(interest)
    longer = prices(interest, seconds=0.0, longest=60.0)
    assert stopped.rising == 0
    assert (longer.bound, longer.rising) == (full.bound, None)
    assert stopped.bound < full.bound
