"""`verify --k`: whether topics stay connected when a broker fails, and what a resilient plan claims."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from damage import edit_table
from meshwright import load_interest, measure
from meshwright.errors import InputError
from meshwright.store.plan_check import verify_stored_plan
from meshwright.store.plans import read_plan
from meshwright.verify import verify_overlay
from small_datasets import planned, small_dataset
from terminal import meshwright


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a small synthetic dataset."""
    return small_dataset(tmp_path_factory.mktemp("resilience"))


def shorten(made: Path, dataset: Path) -> None:
    """Remove the last edge of a stored plan, and correct its figures."""
    edit_table(made / "edges.parquet", lambda table: table[:-1])
    found = verify_overlay(read_plan(made).overlay_on(load_interest(str(dataset))))
    header = json.loads((made / "plan.json").read_text(encoding="utf-8"))
    header["figures"]["edges"] -= 1
    header["figures"] |= {
        "average_degree": found.degrees.average,
        "max_degree": found.degrees.maximum,
        "support": found.support,
    }
    (made / "plan.json").write_text(json.dumps(header), encoding="utf-8")


@pytest.mark.parametrize("words", [["resilient"], ["resilient", "--k", "2"], ["ring"]])
def test_what_survives_a_failure_is_verified(dataset: Path, words: list[str]) -> None:
    """A resilient plan passes, and so does a plan of rings."""
    made = planned(dataset, "--algorithm", *words)
    answer = meshwright("verify", made, dataset, "--k", "2")
    assert (answer.code, answer.err) == (0, "")
    assert "resilient: no failure of a single broker splits a topic" in answer.out
    document = meshwright("verify", made, dataset, "--k", "2", "--json").json
    assert (document["verified"], document["k"], document["weak_topics"]) == (True, 2, 0)


def test_weak_topics_are_named(dataset: Path) -> None:
    """GM's plan is true but not 2-connected: five weak topics are named, and the brokers that split them."""
    made = planned(dataset)
    answer = meshwright("verify", made, dataset, "--k", "2")
    assert answer.code == 1
    interest = load_interest(str(dataset))
    weak = measure.weak_topics(read_plan(made).overlay_on(interest))
    assert len(weak) > 5
    names = interest.topic_names.to_pylist(), interest.node_names.to_pylist()
    expected = [
        f"weak: {names[0][topic]!r} is split when {names[1][node]!r} fails"
        for topic, node in zip(weak.topics[:5].tolist(), weak.nodes[:5].tolist(), strict=True)
    ]
    assert answer.out.splitlines()[0] == "NOT verified"
    assert answer.out.splitlines()[2:] == [f"not resilient: {len(weak)} of 8 topics are weak", *expected]
    document = meshwright("verify", made, dataset, "--k", "2", "--json")
    assert (document.code, document.json["weak_topics"], document.json["disagreements"]) == (1, len(weak), [])
    assert meshwright("verify", made, dataset, "--k", "1").code == 0


def test_a_resilient_plan_must_keep_its_claim(dataset: Path) -> None:
    """No link is redundant: without one, a plan that claims k = 2 fails although its figures are right."""
    made = planned(dataset, "--algorithm", "resilient")
    shorten(made, dataset)
    answer = meshwright("verify", made, dataset)
    assert answer.code == 1
    assert "wrong: " not in answer.out
    assert "weak: " in answer.out


def test_a_plan_that_claims_less_passes(dataset: Path) -> None:
    """With k = 1 a plan claims to be connected and no more; the JSON has the k that was checked."""
    made = planned(dataset, "--algorithm", "resilient", "--k", "1")
    document = meshwright("verify", made, dataset, "--json")
    assert (document.code, document.json["k"], document.json["weak_topics"]) == (0, 1, None)
    assert meshwright("verify", made, dataset, "--k", "2").code == 1


def test_a_budget_does_not_excuse_a_requested_k(dataset: Path) -> None:
    """A partial plan passes unless connected topics are requested; split topics are named as such."""
    made = planned(dataset, "--algorithm", "gpa", "--max-edges", "5")
    assert meshwright("verify", made, dataset).code == 0
    assert meshwright("verify", made, dataset, "--k", "1").code == 1
    answer = meshwright("verify", made, dataset, "--k", "2")
    assert answer.code == 1
    assert "is split already" in answer.out


def test_other_values_of_k_are_rejected(dataset: Path) -> None:
    """Only 1 and 2 can be checked."""
    made = planned(dataset)
    assert meshwright("verify", made, dataset, "--k", "3").code == 2
    with pytest.raises(InputError, match="k is 3: give 1"):
        verify_stored_plan(made, load_interest(str(dataset)), k=3)
    refused = meshwright("plan", dataset, "--force", "--algorithm", "resilient", "--k", "3", "--out", made)
    assert refused.code == 2
    assert "k is 3.0: give 1" in refused.err
