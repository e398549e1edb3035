"""The page of a plan: complete, self-contained, escaped, and honest about plans that are wrong."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import meshwright as mw
from calls import overlay_of
from meshwright.designs.front import front
from meshwright.errors import InputError, MissingDependencyError
from meshwright.formatting import counted
from meshwright.report.plan_facts import PlanFacts, facts_of_plan, facts_of_stored_plan, made_by, topic_effort
from meshwright.report.plan_page import plan_page
from meshwright.report.tables import name_of
from meshwright.store.bridges import load_bridges
from meshwright.workloads import zipf

HOSTILE = [
    "<script>alert(1)</script>",
    "\u202egpj.exe",
    "a\x1b[31mb",
    "\"'&<img src=x onerror=alert(2)>",
    "L" * 500,
]
INTEREST = zipf(40, 10, size=4, seed=1)


class Seen(HTMLParser):
    """Collect tags, ids, addresses and event handlers of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "xlink:href", "action"):
                self.addresses.append(value or "")
            if name.startswith("on"):
                self.handlers.append(name)


def seen(page: str) -> Seen:
    """Return what is in a page."""
    parser = Seen()
    parser.feed(page)
    return parser


@pytest.fixture(scope="module")
def page() -> str:
    plan = mw.design(INTEREST, "low", certify=True)
    today = load_bridges(mw.design(INTEREST, "ring").overlay.edges, INTEREST)
    return plan_page(facts_of_plan(plan, today=today))


def test_busy_brokers_are_listed(page: str) -> None:
    """Brokers with links are in a table; if nobody has one, a sentence says so."""
    assert "topics passed on" in page
    assert "No broker has a link." not in page
    alone = plan_page(facts_of_plan(mw.design({"a": {"x"}, "b": {"y"}}, "gm")))
    assert "No broker has a link." in alone


def test_everything_is_shown(page: str) -> None:
    """Headline, savings, charts, brokers, topics, trees, graph and origin have their sections."""
    for section in ("savings", "degrees", "brokers", "topics", "trees", "graph", "made"):
        assert f'<section id="{section}">' in page
    for text in (
        "verified",
        "certified",
        "Guarantee.",
        "a ring per topic",
        "a full mesh",
        "the bridges of today",
    ):
        assert text in page
    assert "meshwright plan DATASET --algorithm low --certify --out PLAN" in page
    assert INTEREST.fingerprint in page
    assert page.count("<svg") == 2


def test_the_page_asks_for_nothing(page: str) -> None:
    """Addresses lead into the page itself; ids are distinct; a policy forbids everything else."""
    found = seen(page)
    assert all(address.startswith(("#", "data:image/")) for address in found.addresses)
    assert len(found.ids) == len(set(found.ids))
    assert not found.handlers
    assert "link" not in found.tags
    assert "default-src &#x27;none&#x27;" in page


def test_the_same_plan_gives_the_same_page(page: str) -> None:
    """Nothing depends on time or chance, except the time that the design took."""
    plan = mw.design(INTEREST, "low", certify=True)
    today = load_bridges(mw.design(INTEREST, "ring").overlay.edges, INTEREST)
    again = plan_page(facts_of_plan(plan, today=today))
    assert re.sub(r"[\d.e-]+ s to design", "", again) == re.sub(r"[\d.e-]+ s to design", "", page)


def test_hostile_names_stay_text() -> None:
    """Names with markup, direction overrides, escapes or hundreds of letters add no element."""
    interest = mw.Interest.of({name: {"x", *HOSTILE} for name in HOSTILE} | {"plain": {"x"}})
    hostile = plan_page(facts_of_plan(mw.design(interest, "gm")))
    harmless = mw.Interest.of({f"b{i}": {"x", *(f"t{j}" for j in range(5))} for i in range(5)} | {"c": {"x"}})
    expected = plan_page(facts_of_plan(mw.design(harmless, "gm")))
    assert sorted(seen(hostile).tags) == sorted(seen(expected).tags)
    assert not seen(hostile).handlers
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", hostile)
    assert "\\u202egpj.exe" in hostile
    assert "L" * 200 not in hostile


@pytest.mark.parametrize("held", [{"a": {"x"}}, {"a": {"x"}, "b": {"y"}}, {"a": {"x"}, "b": {"x"}}])
def test_tiny_plans(held: dict[str, set[str]]) -> None:
    """One broker, no links and one link make a page."""
    made = plan_page(facts_of_plan(mw.design(held, "gm")))
    assert f"{len(held):,} broker{'s' if len(held) > 1 else ''}" in made


def test_partial_plans_name_split_topics() -> None:
    """A plan under a budget is verified, and the topics that it leaves apart come first."""
    partial = facts_of_plan(mw.design(INTEREST, "gpa", max_edges=15))
    effort = topic_effort(partial.overlay)
    made = plan_page(partial)
    assert "verified, partial" in made
    assert f"split into {effort.pieces.max():,}" in made
    assert effort.links.sum() == pytest.approx(15)


def stored(folder: Path) -> PlanFacts:
    return facts_of_stored_plan(folder, INTEREST)


def test_stored_trees_and_groups_are_shown(tmp_path: Path) -> None:
    """The trees of a plan are its own, with their stated figures; groups of filters have a table."""
    plan = mw.design(INTEREST, "low")
    folder = plan.save(tmp_path / "plan")
    assert not stored(folder).routed
    trees = mw.route(plan, "load")
    mw.save(trees, folder)
    facts = stored(folder)
    assert facts.routed
    assert not facts.messages
    assert facts.trees.links.tolist() == trees.links.tolist()
    assert "chosen by load" in plan_page(facts)
    table = pa.table({"filter": ["s/+", "s/1", "#<b>"], "group": ["t0", "t0", "#<b>"]})
    made = plan_page(replace(stored(folder), groups=table))
    assert "Largest groups of filters" in made
    assert "s/+, s/1" in made
    assert "<b>" not in made.partition("Largest groups of filters</h2>")[2].partition("</section>")[0]


def row_of(made: str, broker: str) -> list[str]:
    """Return the figures of a broker in the table of busiest brokers."""
    table = made.partition('<section id="brokers">')[2].partition("</section>")[0]
    row = next(row for row in table.split("<tr>") if f">{broker}<" in row)
    return re.findall(r">([\d,]+)<", row)


def test_a_broker_passes_on_what_it_has_two_neighbours_for() -> None:
    """A root with one child passes nothing on; copies are one less than neighbours, summed over topics."""
    interest = mw.Interest.of({"hub": {"x", "y"}, "a": {"x", "y"}, "b": {"x"}, "c": {"x"}})
    plan = replace(mw.design(interest, "gm"), overlay=overlay_of(interest, [(0, 3), (1, 3), (2, 3)]))
    made = plan_page(facts_of_plan(plan))
    assert row_of(made, "hub") == ["3", "2", "1", "2"]
    assert row_of(made, "a") == ["1", "2", "0", "0"]
    assert "copies passed on, of one message per topic" in made


@pytest.mark.parametrize("algorithm", ["low", "gpa", "ring"])
def test_the_busiest_broker_is_in_the_unit_of_the_table(algorithm: str) -> None:
    """Topics passed on are those with two neighbours or more in the tree; the tile has the most copies."""
    budget: dict[str, Any] = {"max_edges": 42} if algorithm == "gpa" else {}
    facts = facts_of_plan(mw.design(INTEREST, algorithm, **budget))
    neighbours: Counter[tuple[int, int]] = Counter()
    for topic in range(INTEREST.num_topics):
        neighbours.update((topic, v) for link in facts.trees.edges_of(topic) for v in link)
    passed_on = Counter(v for (_, v), number in neighbours.items() if number > 1)
    copies = Counter[int]()
    for (_, v), number in neighbours.items():
        copies[v] += number - 1
    assert facts.tree_figures["max_broker_load"] == max(copies.values())
    made = plan_page(facts)
    for v in np.argsort(-facts.degrees, kind="stable")[:10].tolist():
        name = str(INTEREST.node_names[v].as_py())
        assert row_of(made, name)[2:] == [f"{passed_on[v]}", f"{copies[v]}"]
    relaying = len(set(facts.trees.nodes[facts.trees.relay].tolist()))
    at = f"at {counted(relaying, 'broker')}, passing on messages without a subscription"
    assert (at if relaying else "every broker subscribes to what it passes on") in made


def test_a_plan_without_trees_says_why() -> None:
    """Topics that are split have no trees for another reason than topics of one broker."""
    apart = plan_page(facts_of_plan(mw.design({"a": {"x"}, "b": {"x", "y"}, "c": {"y"}}, "gpa", max_edges=0)))
    assert "cannot reach each other" in apart
    alone = plan_page(facts_of_plan(mw.design({"a": {"x"}, "b": {"y"}}, "gm")))
    assert "No topic has two brokers" in alone


def test_a_wrong_plan_is_not_verified(tmp_path: Path) -> None:
    """A plan that states another number of links is shown with the line that is wrong."""
    folder = mw.design(INTEREST, "low").save(tmp_path / "plan")
    header = json.loads((folder / "plan.json").read_text())
    header["figures"]["edges"] += 1
    (folder / "plan.json").write_text(json.dumps(header))
    made = plan_page(stored(folder))
    assert "NOT verified" in made
    assert f"the plan states {header['figures']['edges']}" in made


def test_the_command_has_all_parameters() -> None:
    """Parameters, flags, seeds and certificates read as on the command line."""
    made = mw.design(INTEREST, "randomm", max_degree=3, arbitrary=True, seed=5)
    assert made_by(facts_of_plan(made)) == (
        "meshwright plan DATASET --algorithm randomm --max-degree 3 --arbitrary --seed 5 --out PLAN"
    )
    assert "--k 5 " in made_by(facts_of_plan(mw.design(INTEREST, "low", k=5.0)))
    parts = replace(mw.design(INTEREST, "gm"), parameters={"parts": 3, "coverage": 2})
    assert made_by(facts_of_plan(parts)) == "meshwright plan DATASET --algorithm gm --parts 3,2 --out PLAN"
    (plan, *_) = front(INTEREST, steps=5)
    assert made_by(facts_of_plan(plan)) == (
        "meshwright plan DATASET --algorithm best --objective front --steps 5 --certify --out PLAN"
    )
    (plan, *_) = front(INTEREST, steps=5, max_degree=4, certify=True)
    assert made_by(facts_of_plan(plan)) == "meshwright advise DATASET --steps 5 --max-degree 4 --out PLAN"
    assert name_of(plan) == f"Best, degree ≤ {plan.figures['max_degree']}"


def test_python_face(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`mw.report` and `Plan.report` write the file; a stored plan needs its interest and has a default."""
    plan = mw.design(INTEREST, "gm")
    assert plan.report(tmp_path / "one.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    folder = plan.save(tmp_path / "plan")
    report: Any = mw.report  # a room that can be called
    assert report(folder, interest=INTEREST) == folder / "report.html"
    with pytest.raises(InputError, match="interest=interest"):
        report(folder)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match="charts"):
        report(plan, tmp_path / "two.html")


def test_a_figure_that_trees_do_not_state_is_computed(tmp_path: Path) -> None:
    """A page is made of a plan that lacks a figure of its trees; its verdict says so."""
    folder = mw.design(INTEREST, "low").save(tmp_path / "plan")
    mw.save(mw.route(mw.design(INTEREST, "low")), folder)
    content = json.loads((folder / "plan.json").read_text())
    found = content["routes"]["figures"].pop("mean_hops")
    (folder / "plan.json").write_text(json.dumps(content))
    facts = stored(folder)
    assert facts.tree_figures["mean_hops"] == found
    assert not facts.verdict.passed
    assert plan_page(facts)
