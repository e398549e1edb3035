"""`export`: folders for brokers, files for other programs, and nothing written where something is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest

import meshwright as mw
from terminal import meshwright

SUBSCRIPTIONS = {
    "berlin": {"rain", "wind"},
    "oslo": {"wind", "snow"},
    "rome": {"rain", "sun"},
    "ulm": {"rain"},
}


def planned(
    folder: Path, subscriptions: dict[str, set[str]], *, routed: bool = True, **design: object
) -> Path:
    """Write a dataset and a plan with trees."""
    interest = mw.Interest.from_dict(subscriptions)
    made = mw.design(interest, **{"algorithm": "gm", **design})  # type: ignore[arg-type]
    mw.write_dataset(interest, folder / "dataset")
    mw.write_plan(made, folder / "plan")
    if routed:
        mw.write_trees(mw.route(made.overlay), folder / "plan")
    return folder / "plan"


def test_mosquitto_folders(tmp_path: Path) -> None:
    """A folder for each broker, at the places of the inventory."""
    plan, out = planned(tmp_path, SUBSCRIPTIONS), tmp_path / "out"
    rows = "".join(f"{broker},{broker}.example,1883\n" for broker in SUBSCRIPTIONS)
    (tmp_path / "brokers.csv").write_text(f"broker,host,port\n{rows}")
    words: list[str | Path] = ["--to", "mosquitto", "--inventory", tmp_path / "brokers.csv", "--out", out]
    answer = meshwright("export", plan, *words, "--json")
    assert (answer.code, answer.json["brokers"], answer.json["bridges"]) == (0, 4, 3)
    assert "address berlin.example:1883" in (out / "oslo" / "mosquitto.conf").read_text()
    assert "topic wind both 1" in (out / "oslo" / "mosquitto.conf").read_text()
    assert "4 brokers, 3 bridges, 3 topic lines" in meshwright("export", plan, *words).out


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("berlin,a,1\noslo,b,1\nrome,c,1\n", "no brokers 'ulm'"),
        ("berlin,a,1\noslo,a,1\nrome,c,1\nulm,d,1\n", "both at a:1"),
        ("berlin,a,1\noslo,b,1\nrome,c,1\nulm,d,1\nparis,e,1\n", "unknown brokers 'paris'"),
    ],
)
def test_inventory_mistakes(tmp_path: Path, rows: str, told: str) -> None:
    """A broker missing, a port twice, a broker unknown: one line, nothing written."""
    plan = planned(tmp_path, SUBSCRIPTIONS)
    (tmp_path / "brokers.csv").write_text(f"broker,host,port\n{rows}")
    words: list[str | Path] = ["--inventory", tmp_path / "brokers.csv", "--out", tmp_path / "out"]
    assert told in meshwright("export", plan, "--to", "mosquitto", *words).complaint
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("topics", "told"),
    [
        ({"a": {"wet rain"}, "b": {"wet rain"}}, "spaces"),
        ({"a": {"a/#/b"}, "b": {"a/#/b"}}, "# must be the last level"),
        ({"a": {"x/#"}, "b": {"x/#", "x/y"}, "c": {"x/y"}}, "with --overlaps merge"),
    ],
)
def test_filter_mistakes(tmp_path: Path, topics: dict[str, set[str]], told: str) -> None:
    """Filters that no bridge can have, and such as overlap: one line, nothing written."""
    plan = planned(tmp_path, topics)
    assert told in meshwright("export", plan, "--to", "mosquitto", "--out", tmp_path / "out").complaint
    assert not (tmp_path / "out").exists()


def test_overlaps_can_be_merged(tmp_path: Path) -> None:
    """Asked to merge, overlapping filters share a tree, which is told and stands in plan.md."""
    plan = planned(tmp_path, {"a": {"x/#"}, "b": {"x/#", "x/y"}, "c": {"x/y"}})
    words: list[str | Path] = ["--to", "mosquitto", "--overlaps", "merge", "--out", tmp_path / "out"]
    assert "merged, so that brokers of one carry all: x/#, x/y" in meshwright("export", plan, *words).out
    page = (tmp_path / "out" / "plan.md").read_text()
    assert "Relaxed" in page
    assert "no other broker" not in page


def test_relays_are_told(tmp_path: Path) -> None:
    """Allowed relays are named in plan.md, which then promises no more than that; without, it does."""
    held = {"a": {"x", "y"}, "b": {"y", "z"}, "c": {"x", "z"}}
    plan = planned(tmp_path, held, max_edges=2, algorithm="gpa")
    words: list[str | Path] = ["--to", "mosquitto", "--allow-relays", "--out", tmp_path / "out"]
    assert meshwright("export", plan, *words).code == 0
    page = (tmp_path / "out" / "plan.md").read_text()
    assert "Relays, which carry what they did not ask for" in page
    assert "no other broker" not in page
    whole = planned(tmp_path, held)
    assert meshwright("export", whole, "--to", "mosquitto", "--out", tmp_path / "out").code == 0
    assert "and no other broker" in (tmp_path / "out" / "plan.md").read_text()


def test_partial_plans_are_refused(tmp_path: Path) -> None:
    """A plan that is not topic-connected is refused, and so is one without trees."""
    out = tmp_path / "out"
    plan = planned(tmp_path, SUBSCRIPTIONS, algorithm="gpa", max_edges=1)
    assert "not topic-connected" in meshwright("export", plan, "--to", "mosquitto", "--out", out).complaint
    interest = mw.Interest.from_dict({"a": {"x"}, "b": {"y"}, "c": {"x", "y"}, "d": {"x", "y"}})
    mw.write_plan(mw.design(interest, "gpa", max_edges=2), plan)
    assert "has no trees" in meshwright("export", plan, "--to", "mosquitto", "--out", out).complaint
    assert "choose one of" in meshwright("export", plan, "--to", "paper", "--out", out).complaint
    assert (
        "no secret"
        in meshwright(
            "export",
            planned(tmp_path, SUBSCRIPTIONS),
            "--to",
            "mosquitto",
            "--secret",
            tmp_path / "no",
            "--out",
            out,
        ).complaint
    )
    assert not out.exists()


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("graphml", "plan.graphml"),
        ("json", "export.json"),
        ("dot", "plan.dot"),
        ("networkx", "plan.node-link.json"),
    ],
)
def test_other_programs(tmp_path: Path, kind: str, name: str) -> None:
    """Each kind holds the plan's links, with how many topics each carries."""
    plan = planned(tmp_path, SUBSCRIPTIONS)
    answer = meshwright("export", plan, "--to", kind, "--out", tmp_path / "out", "--json")
    assert (answer.code, answer.json["file"]) == (0, str(tmp_path / "out" / name))
    file = tmp_path / "out" / name
    links = {
        frozenset(pair)
        for pair in mw.read_plan(plan).overlay_on(mw.load_interest(tmp_path / "dataset")).edges
    }
    if kind == "graphml":
        assert {frozenset(edge) for edge in nx.read_graphml(file).edges} == links
    elif kind == "networkx":
        graph = nx.node_link_graph(json.loads(file.read_text()), edges="edges")
        assert {frozenset(edge) for edge in graph.edges} == links
        assert sum(carried for _, _, carried in graph.edges(data="topics")) == 3
    elif kind == "json":
        assert {frozenset((link["u"], link["v"])) for link in json.loads(file.read_text())["links"]} == links
    else:
        assert file.read_text().count(" -- ") == len(links)


@pytest.mark.parametrize(
    "words",
    [
        ["--inventory", "i.csv"],
        ["--profile", "durable"],
        ["--mosquitto", "2.1"],
        ["--secret", "none"],
        ["--overlaps", "merge"],
        ["--allow-relays"],
    ],
)
def test_options_of_brokers_are_for_brokers(tmp_path: Path, words: list[str]) -> None:
    """What is about brokers is refused where none are written, and nothing is written."""
    plan, out = planned(tmp_path, SUBSCRIPTIONS), tmp_path / "out"
    told = meshwright("export", plan, "--to", "json", "--out", out, *words).complaint
    assert f"{words[0]} not with --to json" in told
    assert not out.exists()


@pytest.mark.parametrize("kind", ["graphml", "json", "dot", "networkx"])
def test_one_way_links_and_brokers_apart(tmp_path: Path, kind: str) -> None:
    """A publisher's link beside the overlay is there and told from the others; so is a broker without any."""
    interest = mw.Interest.from_dict({"a": {"x"}, "b": {"x"}, "p": {"y"}, "q": {"z"}})
    made = mw.design(interest, "gm")
    mw.write_plan(made, tmp_path / "plan")
    mw.write_trees(mw.route(made.overlay, publishers=[(2, 0)]), tmp_path / "plan")
    answer = meshwright("export", tmp_path / "plan", "--to", kind, "--out", tmp_path / "out", "--json")
    file = Path(answer.json["file"])
    if kind == "json":
        links = json.loads(file.read_text())["links"]
        found = {(link["u"], link["v"], link["overlay"], *link["topics"]) for link in links}
        assert found == {("a", "b", True, "x"), ("a", "p", False, "x")}
        return
    if kind == "dot":
        lines = file.read_text().splitlines()
        assert '  "q";' in lines
        assert [("dashed" in line, '"p"' in line) for line in lines if " -- " in line] == [
            (False, False),
            (True, True),
        ]
        return
    graph = (
        nx.read_graphml(file)
        if kind == "graphml"
        else nx.node_link_graph(json.loads(file.read_text()), edges="edges")
    )
    assert set(graph) == {"a", "b", "p", "q"}
    assert {(*sorted(ends), kept) for *ends, kept in graph.edges(data="overlay")} == {
        ("a", "b", True),
        ("a", "p", False),
    }
