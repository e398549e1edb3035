"""`route`: stores trees in the plan, prints the library's figures, and `verify` finds faults in them."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import meshwright as mw
from meshwright.formatting import counted
from meshwright.routes import figures, route
from meshwright.store.traffic import CHANNELS, RATES, Traffic
from meshwright.workloads import unif
from terminal import meshwright
from written_inputs import write_traffic

PUBLISHED = [("b00", "t0", 90.0), ("b01", "t1", 5.0), ("nobody", "t1", 5.0)]


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Path]:
    """Write a small dataset and a plan for it."""
    interest = unif(30, 8, size=3, seed=2)
    mw.write_dataset(interest, tmp_path / "dataset")
    mw.write_plan(mw.design(interest, "low"), tmp_path / "plan")
    return tmp_path / "plan", tmp_path / "dataset"


def traffic(path: Path) -> Path:
    """Write rates: much on t0, some on t1, and a publisher that is not a broker."""
    publisher, channel, rate = zip(*PUBLISHED, strict=True)
    counts = {"messages": [9, 1, 1], "bytes": [0, 0, 0], "rate": rate, "byte_rate": [0.0] * 3}
    rates = pa.table({"publisher": publisher, "channel": channel, **counts}, schema=RATES)
    sums = {"messages": [9, 2], "bytes": [0, 0], "rate": [90.0, 10.0], "byte_rate": [0.0] * 2}
    channels = pa.table({"channel": ["t0", "t1"], "publishers": [1, 2], **sums}, schema=CHANNELS)
    return write_traffic(Traffic(rates, channels, {}), path)


def test_trees_are_stored_in_the_plan(made: tuple[Path, Path]) -> None:
    """The plan contains the trees and figures of the library, and verifies."""
    answer = meshwright("route", *made, "--json")
    interest = mw.load_interest(made[1])
    expected = route(mw.read_plan(made[0]).overlay_on(interest))
    assert answer.code == 0
    assert answer.json.items() >= figures(expected).items()
    stored = mw.read_trees(made[0])
    assert stored.trees.equals(expected.to_arrow().combine_chunks().cast(stored.trees.schema))
    assert stored.described["figures"] == figures(expected)
    verified = meshwright("verify", *made)
    assert verified.code == 0
    assert f"routed: {len(expected):,} trees span exactly" in verified.out
    assert "without a tree" not in verified.out


def test_an_outdated_report_is_named(made: tuple[Path, Path]) -> None:
    """A report in the plan's folder shows other trees: the answer says that it is gone, and how to get it."""
    page = made[0] / "report.html"
    page.write_text("", encoding="utf-8")
    answer = meshwright("route", *made)
    assert not page.exists()
    again = f"and is removed; make it again: meshwright report {made[0]} {made[1]}"
    assert answer.out.splitlines()[-1] == f"report.html was made before the plan had trees {again}"
    page.write_text("", encoding="utf-8")
    answer = meshwright("route", *made)
    assert not page.exists()
    assert answer.out.splitlines()[-1] == f"report.html showed other trees {again}"


def test_suggested_commands_can_be_pasted(made: tuple[Path, Path], tmp_path: Path) -> None:
    """Paths with spaces are quoted in the commands that answers and errors name."""
    plan, dataset = (path.rename(tmp_path / f"my {path.name}") for path in made)
    refused = meshwright("export", plan, "--to", "mosquitto", "--out", tmp_path / "out").complaint
    assert refused.endswith(f"meshwright route {shlex.quote(str(plan))} DATASET\n")
    (plan / "report.html").write_text("", encoding="utf-8")
    again = meshwright("route", plan, dataset).out.splitlines()[-1].partition("again: ")[2]
    assert shlex.split(again) == ["meshwright", "report", str(plan), str(dataset)]


def test_counts_of_one_are_singular(tmp_path: Path) -> None:
    """One link, one topic: no line has a plural for them."""
    (tmp_path / "a.csv").write_text("node,topic\na,x\nb,x\n", encoding="utf-8")
    plan, words = tmp_path / "plan", (tmp_path / "plan", tmp_path / "a.csv")
    made = meshwright("plan", words[1], "--algorithm", "minmax", "--certify", "--out", plan)
    assert "with at most 1 link per broker" in made.out
    assert "load: 1 topic on the busiest link" in meshwright("route", *words).out
    verified = meshwright("verify", *words).out
    assert len(re.findall(r"connecting every topic needs at least 1 link( then)?\n", verified)) == 2
    chaos = meshwright("chaos", *words, "--samples", "1").out
    refused = meshwright("soc", words[1], "--links", "0").out
    for text in (made.out, verified, chaos, refused):
        assert not re.search(r"\b1 (links|topics|rounds|brokers)\b", text), text


def test_the_answer_for_people(made: tuple[Path, Path], tmp_path: Path) -> None:
    """The lines state trees, hops, load and publishers, with the same figures as the JSON document."""
    found = meshwright("route", *made, "--json").json
    assert meshwright("route", *made).out.splitlines() == [
        f"{found['trees']:,} trees, by hops, over {found['links_used']} links",
        f"hops: {found['mean_hops']:.2f} on average, {found['max_hops']} at most; "
        f"{found['mean_stretch']:.2f} times the shortest paths of the overlay",
        f"load: {found['max_link_load']:g} topics on the busiest link "
        f"({found['mean_link_load']:.4g} on average); the busiest broker passes on "
        f"{found['max_broker_load']:g} copies of one message per topic",
        f"written to {made[0]}",
    ]
    lines = meshwright("route", *made, "--rates", traffic(tmp_path / "traffic")).out.splitlines()
    assert lines[2].endswith(" copies a second")
    assert lines[3:5] == [
        "publishers: 2 attached by one-way links",
        "not attached: 1 publisher, not among the brokers",
    ]


def test_stable_after_stable_changes_nothing(made: tuple[Path, Path]) -> None:
    """With `stable`, today's trees stay; without any, the error says what to do first."""
    assert "meshwright route" in meshwright("route", *made, "--objective", "stable").complaint
    assert meshwright("route", *made, "--objective", "load").code == 0
    before = _links(made[0])
    assert meshwright("route", *made, "--objective", "stable").code == 0
    assert _links(made[0]) == before
    assert "--today needs --objective stable" in meshwright("route", *made, "--today", made[0]).complaint
    assert "hops, load, stable" in meshwright("route", *made, "--objective", "fast").complaint


def _links(plan: Path) -> set[tuple[str, frozenset[str]]]:
    rows = mw.read_trees(plan).trees.to_pylist()
    return {(row["topic"], frozenset((row["parent"], row["child"]))) for row in rows if row["parent"]}


def test_rates_and_publishers(made: tuple[Path, Path], tmp_path: Path) -> None:
    """Rates come from the traffic's channels; publishers that do not subscribe are attached one way."""
    rates = traffic(tmp_path / "traffic")
    answer = meshwright("route", *made, "--objective", "load", "--rates", rates, "--json")
    assert answer.code == 0
    assert answer.json["max_link_load"] in (90.0, 100.0)
    interest = mw.load_interest(made[1])
    alone = [(broker, topic) for broker, topic, _ in PUBLISHED[:2] if topic not in interest.topics_of(broker)]
    assert answer.json["publishers"] == len(alone)
    assert answer.json["unknown_publishers"] == 1
    roles = mw.read_trees(made[0]).roles
    attached = roles.filter(pc.equal(roles["role"], "publisher"))
    found = set(zip(attached["broker"].to_pylist(), attached["topic"].to_pylist(), strict=True))
    assert found == set(alone)
    verified = meshwright("verify", *made)
    assert verified.code == 0
    assert "not checked: the loads of trees; the plan does not keep the rates of its topics" in verified.out
    meshwright("route", *made)
    assert "not checked" not in meshwright("verify", *made).out


def test_partial_plans_name_their_relays(made: tuple[Path, Path], tmp_path: Path) -> None:
    """A plan under a budget gets relays, which are named; a topic without a tree makes the exit code 1."""
    plan = tmp_path / "partial"
    meshwright("plan", made[1], "--algorithm", "gpa", "--max-edges", "29", "--out", plan)
    answer = meshwright("route", plan, made[1], "--json")
    assert answer.json["relays"] > 0
    assert sum(len(topic["relays"]) for topic in answer.json["topics"]) == answer.json["relays"]
    assert max(topic["max_hops"] for topic in answer.json["topics"]) == answer.json["max_hops"]
    out = meshwright("route", plan, made[1]).out
    at = {broker for topic in answer.json["topics"] for broker in topic["relays"]}
    assert f"relays: {answer.json['relays']} at {counted(len(at), 'broker')}, passing on messages" in out
    assert meshwright("verify", plan, made[1]).code == 0
    meshwright("plan", made[1], "--algorithm", "gpa", "--max-edges", "3", "--out", plan)
    answer = meshwright("route", plan, made[1])
    assert answer.code == 1
    assert "cannot reach each other" in answer.out
    verified = meshwright("verify", plan, made[1])
    assert verified.code == 0
    unreachable = meshwright("verify", plan, made[1], "--json").json["unreachable"]
    assert unreachable == meshwright("route", plan, made[1], "--json").json["unreachable"] > 0
    assert f"without a tree: {counted(unreachable, 'topic')}, whose subscribers" in verified.out


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda rows: rows[:-1], "leave out subscribers"),
        (lambda rows: rows[1:], "not one tree each"),
        (lambda rows: [*rows, rows[-1]], "reach a broker twice"),
        (lambda rows: [*rows[:-1], {**rows[-1], "child": "b99"}], "links that are not in the overlay"),
        (lambda rows: [*rows, {"topic": "new", "parent": None, "child": "b99"}], "unknown 'new', 'b99'"),
        (lambda rows: [*rows[:-1], {**rows[-1], "parent": rows[-1]["child"]}], "not one tree each"),
        (lambda rows: [{**row, "topic": "t0"} for row in rows], "reach a broker twice"),
    ],
)
def test_verify_finds_spoilt_trees(made: tuple[Path, Path], spoil: object, message: str) -> None:
    """`verify` finds a row of the trees' file that is removed, repeated or changed."""
    meshwright("route", *made)
    file = made[0] / "trees.parquet"
    table = pq.read_table(file)
    rows = spoil(table.to_pylist())  # type: ignore[operator]
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), file)
    answer = meshwright("verify", *made)
    assert answer.code == 1
    assert message in answer.out


def test_verify_finds_missing_links_and_wrong_figures(made: tuple[Path, Path]) -> None:
    """`verify` finds a tree over a link that the overlay does not have, and figures that are wrong."""
    meshwright("route", *made)
    table = pq.read_table(made[0] / "trees.parquet")
    rows = table.to_pylist()
    links = {frozenset(pair) for pair in mw.read_plan(made[0]).overlay_on(mw.load_interest(made[1])).edges}
    for place, row in enumerate(rows):
        others = [o["child"] for o in rows if o["topic"] == row["topic"] and o["parent"] is None]
        if row["parent"] and frozenset((others[0], row["child"])) not in links:
            rows[place] = {**row, "parent": others[0]}
            break
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), made[0] / "trees.parquet")
    assert "links that are not in the overlay" in meshwright("verify", *made).out
    pq.write_table(table, made[0] / "trees.parquet")
    stated = json.loads((made[0] / "plan.json").read_text())
    stated["routes"]["figures"]["relays"] = 7
    (made[0] / "plan.json").write_text(json.dumps(stated))
    assert "relays is 0, the plan states 7" in meshwright("verify", *made).out


def test_verify_checks_every_figure_of_trees(made: tuple[Path, Path]) -> None:
    """Whatever figure of the trees is changed in plan.json, `verify` names it."""
    meshwright("route", *made)
    truth = json.loads((made[0] / "plan.json").read_text())
    for name, value in truth["routes"]["figures"].items():
        stated = json.loads(json.dumps(truth))
        stated["routes"]["figures"][name] = value + 1
        (made[0] / "plan.json").write_text(json.dumps(stated))
        answer = meshwright("verify", *made)
        assert answer.code == 1
        assert f"wrong: routes: {name} is " in answer.out
