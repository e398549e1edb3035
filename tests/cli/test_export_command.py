"""`export`: folders for brokers, files for other programs, and nothing written if something is wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import networkx as nx
import pytest

import meshwright as mw
from routed_plans import write_routed_plan
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
    """There is a folder for each broker, with the addresses of the inventory, and the counts are printed."""
    plan, out = planned(tmp_path, SUBSCRIPTIONS), tmp_path / "out"
    rows = "".join(f"{broker},{broker}.example,1883\n" for broker in SUBSCRIPTIONS)
    (tmp_path / "brokers.csv").write_text(f"broker,host,port\n{rows}")
    words: list[str | Path] = ["--to", "mosquitto", "--inventory", tmp_path / "brokers.csv", "--out", out]
    refused = meshwright("export", plan, *words).complaint
    assert (
        "'berlin', 'oslo', 'rome', 'ulm' take messages from everybody, since there is no --secret" in refused
    )
    assert "or accept this with --insecure" in refused
    assert not out.exists()
    words.append("--insecure")
    answer = meshwright("export", plan, *words, "--json")
    assert (answer.code, answer.json) == (
        0,
        {
            "plan": str(plan),
            "to": "mosquitto",
            "brokers": 4,
            "bridges": 3,
            "topic_lines": 3,
            "out": str(out),
        },
    )
    assert "address berlin.example:1883" in (out / "oslo" / "mosquitto.conf").read_text()
    assert "topic wind both 1" in (out / "oslo" / "mosquitto.conf").read_text()
    assert meshwright("export", plan, *words).out == (
        "4 brokers, 3 bridges, 3 topic lines\nnothing changes\n"
        f"written to {out}; plan.md there explains how to start and change the brokers\n"
    )


def test_passwords_in_clear_text_are_refused(tmp_path: Path) -> None:
    """Beyond this machine, a secret needs TLS; on loopback nothing is needed; --insecure says so loudly."""
    plan, out, secret = planned(tmp_path, SUBSCRIPTIONS), tmp_path / "out", tmp_path / "secret"
    secret.write_text("0123456789abcdef")
    secret.chmod(0o600)
    rows = "".join(f"{broker},{broker}.example,1883,{broker != 'oslo'}\n" for broker in SUBSCRIPTIONS)
    (tmp_path / "brokers.csv").write_text(f"broker,host,port,tls\n{rows}")
    words: list[str | Path] = ["--to", "mosquitto", "--inventory", tmp_path / "brokers.csv", "--out", out]
    words += ["--secret", secret]
    assert "brokers 'oslo' get passwords in clear text" in meshwright("export", plan, *words).complaint
    answer = meshwright("export", plan, *words, "--insecure")
    assert answer.code == 0
    assert answer.err.startswith("meshwright: INSECURE: brokers 'oslo' get passwords in clear text")
    (tmp_path / "brokers.csv").write_text(f"broker,host,port,tls\n{rows.replace('False', 'True')}")
    assert meshwright("apply", plan, *words[4:6][1:], *words[6:], *words[2:4]).err == ""


def test_without_an_inventory_brokers_are_local(tmp_path: Path) -> None:
    """Without an inventory all brokers are on this machine, from port 18830 on."""
    plan = planned(tmp_path, SUBSCRIPTIONS)
    assert meshwright("export", plan, "--to", "mosquitto", "--out", tmp_path / "out").code == 0
    ports = [
        (tmp_path / "out" / broker / "mosquitto.conf").read_text().splitlines()[1] for broker in SUBSCRIPTIONS
    ]
    assert ports == [f"listener {18830 + number} 127.0.0.1" for number in range(4)]


def test_the_secret_is_the_content_of_a_file(tmp_path: Path) -> None:
    """Spaces around the secret do not count: the same secret gives the same passwords."""
    plan, secret = planned(tmp_path, SUBSCRIPTIONS), tmp_path / "secret"
    passwords = []
    for text in ("0123456789abcdef", "0123456789abcdef\n"):
        secret.write_text(text)
        secret.chmod(0o600)
        words: list[str | Path] = ["--secret", secret, "--profile", "durable", "--out", tmp_path / "out"]
        assert meshwright("export", plan, "--to", "mosquitto", *words).code == 0
        passwords.append((tmp_path / "out" / "ulm" / "client.password").read_text())
    assert passwords[0] == passwords[1]
    assert (tmp_path / "out" / "ulm" / "data" / "README").is_file()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("berlin,a,1\noslo,b,1\nrome,c,1\n", "no brokers 'ulm'"),
        ("berlin,a,1\noslo,a,1\nrome,c,1\nulm,d,1\n", "both at a:1"),
        ("berlin,a,1\noslo,b,1\nrome,c,1\nulm,d,1\nparis,e,1\n", "unknown brokers 'paris'"),
    ],
)
def test_inventory_mistakes(tmp_path: Path, rows: str, message: str) -> None:
    """A missing broker, a port used twice and an unknown broker give one line, and nothing is written."""
    plan = planned(tmp_path, SUBSCRIPTIONS)
    (tmp_path / "brokers.csv").write_text(f"broker,host,port\n{rows}")
    words: list[str | Path] = ["--inventory", tmp_path / "brokers.csv", "--out", tmp_path / "out"]
    assert message in meshwright("export", plan, "--to", "mosquitto", *words).complaint
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("topics", "message"),
    [
        ({"a": {"wet rain"}, "b": {"wet rain"}}, "spaces"),
        ({"a": {"a/#/b"}, "b": {"a/#/b"}}, "# must be the whole last level"),
        ({"a": {"x/#"}, "b": {"x/#", "x/y"}, "c": {"x/y"}}, "with --topic-kind mqtt"),
    ],
)
def test_filter_mistakes(tmp_path: Path, topics: dict[str, set[str]], message: str) -> None:
    """Invalid and overlapping filters give one line, and nothing is written."""
    plan = planned(tmp_path, topics)
    assert message in meshwright("export", plan, "--to", "mosquitto", "--out", tmp_path / "out").complaint
    assert not (tmp_path / "out").exists()


def test_relays_are_stated(tmp_path: Path) -> None:
    """Allowed relays are listed in plan.md, which then promises no more; without relays it does."""
    subscriptions = {"a": {"x", "y"}, "b": {"y", "z"}, "c": {"x", "z"}}
    plan = planned(tmp_path, subscriptions, max_edges=2, algorithm="gpa")
    words: list[str | Path] = ["--to", "mosquitto", "--allow-relays", "--out", tmp_path / "out"]
    assert meshwright("export", plan, *words).code == 0
    page = (tmp_path / "out" / "plan.md").read_text()
    assert "Relays carry messages of topics that they do not subscribe to" in page
    assert "no other broker" not in page
    whole = planned(tmp_path, subscriptions)
    assert meshwright("export", whole, "--to", "mosquitto", "--out", tmp_path / "out").code == 0
    assert "and no other broker" in (tmp_path / "out" / "plan.md").read_text()


def test_an_existing_federation_changes_like_by_apply(tmp_path: Path) -> None:
    """Brokers keep their addresses, the steps are explained, and what needs several waves is refused."""
    out = tmp_path / "out"
    rows = "".join(f"{broker},127.0.0.1,{port}\n" for port, broker in enumerate("abcd", start=7001))
    (tmp_path / "brokers.csv").write_text(f"broker,host,port\n{rows}")
    line = planned(tmp_path, {"a": {"x", "y"}, "b": {"x", "z"}, "c": {"y", "z"}, "d": {"z"}})
    words: list[str | Path] = ["--to", "mosquitto", "--out", out]
    assert meshwright("export", line, *words, "--inventory", tmp_path / "brokers.csv").code == 0
    more = planned(tmp_path, {"a": {"x", "y"}, "b": {"x", "z"}, "c": {"y", "z"}, "d": {"z", "y"}})
    answer = meshwright("export", more, *words)
    assert answer.code == 0
    assert "wave 1:\n  restart d; " in answer.out
    assert "listener 7001 127.0.0.1" in (out / "a" / "mosquitto.conf").read_text()
    assert "nothing changes" in meshwright("export", more, *words).out


def test_a_change_in_several_waves_is_not_exported(tmp_path: Path) -> None:
    """A plan for which brokers need files in between is refused, as by apply without --wave."""
    old, out = write_routed_plan(tmp_path), tmp_path / "out"
    new = write_routed_plan(tmp_path, 8, seed=1, today=old)
    words: list[str | Path] = ["--to", "mosquitto", "--out", out]
    assert meshwright("export", old, *words).code == 0
    refused = meshwright("export", new, *words).complaint
    assert "act in several waves and need other files in each" in refused
    assert "with meshwright apply --wave next" in refused
    assert meshwright("diff", out, old).out == "nothing changes\n"


@pytest.mark.parametrize(
    "files",
    [{"../x": "0" * 64}, {"/x": "0" * 64}, {".": "0" * 64}, {"a\0b": "0" * 64}, {"a/x": "5"}, {"a": 5}],
)
def test_a_manipulated_manifest_is_named(tmp_path: Path, files: dict[str, object]) -> None:
    """A list of files that leads out of the folder, or is no list of digests, is damaged; nothing changes."""
    out = tmp_path / "out"
    plan = planned(tmp_path, SUBSCRIPTIONS)
    assert meshwright("export", plan, "--to", "mosquitto", "--out", out).code == 0
    manifest = json.loads((out / "federation.json").read_text())
    manifest["files"] |= files
    (out / "federation.json").write_text(json.dumps(manifest))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    changes: list[list[str | Path]] = [
        ["apply", plan, out], ["export", plan, "--to", "mosquitto", "--out", out], ["diff", out, plan]
    ]  # fmt: skip
    for words in changes:
        assert "federation.json is damaged: " in meshwright(*words).complaint
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    (out / "federation.json").write_text("[]")
    refused = meshwright("export", plan, "--to", "mosquitto", "--out", out).complaint
    assert "or its federation.json is damaged: choose another path, or restore it" in refused


def test_wrong_plans_are_refused(tmp_path: Path) -> None:
    """A plan that is not topic-connected or has no trees, an unknown kind, and no secret are refused."""
    out = tmp_path / "out"
    plan = planned(tmp_path, SUBSCRIPTIONS, algorithm="gpa", max_edges=1)
    assert "not topic-connected" in meshwright("export", plan, "--to", "mosquitto", "--out", out).complaint
    interest = mw.Interest.from_dict({"a": {"x"}, "b": {"y"}, "c": {"x", "y"}, "d": {"x", "y"}})
    mw.write_plan(mw.design(interest, "gpa", max_edges=2), plan)
    assert "has no trees" in meshwright("export", plan, "--to", "mosquitto", "--out", out).complaint
    assert "choose one of mosquitto, graphml, json, dot, networkx" in (
        meshwright("export", plan, "--to", "paper", "--out", out).complaint
    )
    plan = planned(tmp_path, SUBSCRIPTIONS)
    words: list[str | Path] = ["--secret", tmp_path / "no", "--out", out]
    assert "no secret" in meshwright("export", plan, "--to", "mosquitto", *words).complaint
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
@pytest.mark.parametrize("routed", [True, False])
def test_other_programs(tmp_path: Path, kind: str, name: str, routed: bool) -> None:
    """Each kind contains the plan's links, with the number of topics of each if the plan has trees."""
    plan = planned(tmp_path, SUBSCRIPTIONS, routed=routed)
    answer = meshwright("export", plan, "--to", kind, "--out", tmp_path / "out", "--json")
    file = tmp_path / "out" / name
    assert (answer.code, answer.json) == (0, {"plan": str(plan), "to": kind, "file": str(file)})
    overlay = mw.read_plan(plan).overlay_on(mw.load_interest(tmp_path / "dataset"))
    links = {frozenset(pair) for pair in overlay.edges}
    contributions = dict(zip(map(frozenset, overlay.edges), overlay.contribution.tolist(), strict=True))
    topics = 3 if routed else 0
    if kind in ("graphml", "networkx"):
        graph = (
            nx.read_graphml(file)
            if kind == "graphml"
            else nx.node_link_graph(json.loads(file.read_text()), edges="edges")
        )
        assert {frozenset(edge[:2]): edge[2] for edge in graph.edges(data="contribution")} == contributions
        assert sum(carried for _, _, carried in graph.edges(data="topics")) == topics
        assert sorted(rank for _, _, rank in graph.edges(data="rank")) == list(range(len(links)))
    elif kind == "json":
        document = json.loads(file.read_text())
        assert {frozenset((link["u"], link["v"])) for link in document["links"]} == links
        assert sum(len(link["topics"]) for link in document["links"]) == topics
        assert document["plan"]["algorithm"] == "gm"
        assert not {"format", "schema"} & document["plan"].keys()
        assert ({"trees", "roles"} <= document.keys()) == routed
        if routed:
            assert document["trees"] == mw.read_trees(plan).trees.to_pylist()
            assert document["roles"] == mw.read_trees(plan).roles.to_pylist()
    else:
        text = file.read_text()
        assert text.startswith("graph federation {\n  layout=neato; overlap=false; node [shape=box];\n")
        assert text.endswith("\n}\n")
        assert text.count(" -- ") == len(links)
        assert text.count("topics=1]") == topics


def test_names_are_quoted_for_graphviz(tmp_path: Path) -> None:
    """Quotes, backslashes and line breaks in a name are escaped in DOT."""
    plan = planned(tmp_path, {'a"\\\n': {"x"}, "b": {"x"}})
    assert meshwright("export", plan, "--to", "dot", "--out", tmp_path / "out").code == 0
    assert '  "a\\"\\\\\\n" -- "b" [' in (tmp_path / "out" / "plan.dot").read_text()


@pytest.mark.parametrize("kind", ["graphml", "networkx"])
def test_without_networkx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Where networkx is not installed, one line says how to install it."""
    plan = planned(tmp_path, SUBSCRIPTIONS)
    monkeypatch.setitem(sys.modules, "networkx", None)
    answer = meshwright("export", plan, "--to", kind, "--out", tmp_path / "out")
    assert "pip install 'meshwright[networkx]'" in answer.complaint


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    """A target below a file cannot be created: one line says so."""
    plan = planned(tmp_path, SUBSCRIPTIONS)
    (tmp_path / "file").write_text("")
    answer = meshwright("export", plan, "--to", "dot", "--out", tmp_path / "file" / "out")
    assert "cannot write" in answer.complaint


@pytest.mark.parametrize(
    "words",
    [
        ["--inventory", "i.csv"],
        ["--profile", "durable"],
        ["--mosquitto", "2.1"],
        ["--secret", "none"],
        ["--allow-relays"],
    ],
)
def test_broker_options_are_for_brokers(tmp_path: Path, words: list[str]) -> None:
    """Options for brokers are refused with another kind, and nothing is written."""
    plan, out = planned(tmp_path, SUBSCRIPTIONS), tmp_path / "out"
    complaint = meshwright("export", plan, "--to", "json", "--out", out, *words).complaint
    assert f"{words[0]} cannot be used with --to json" in complaint
    assert not out.exists()


@pytest.mark.parametrize("kind", ["graphml", "json", "dot", "networkx"])
def test_one_way_links_and_unlinked_brokers(tmp_path: Path, kind: str) -> None:
    """A publisher's link outside of the overlay is marked as such, and a broker without a link is there."""
    interest = mw.Interest.from_dict({"a": {"x"}, "b": {"x"}, "p": {"y"}, "q": {"z"}})
    made = mw.design(interest, "gm")
    mw.write_plan(made, tmp_path / "plan")
    mw.write_trees(mw.route(made.overlay, publishers=[(2, 0)]), tmp_path / "plan")
    answer = meshwright("export", tmp_path / "plan", "--to", kind, "--out", tmp_path / "out", "--json")
    file = Path(answer.json["file"])
    if kind == "json":
        links = json.loads(file.read_text())["links"]
        found = {(link["u"], link["v"], link["overlay"], link["rank"], *link["topics"]) for link in links}
        assert found == {("a", "b", True, 0, "x"), ("a", "p", False, None, "x")}
        return
    if kind == "dot":
        lines = file.read_text().splitlines()
        assert '  "q";' in lines
        assert [line for line in lines if " -- " in line] == [
            '  "a" -- "b" [contribution=1, topics=1];',
            '  "a" -- "p" [contribution=0, topics=1, style=dashed];',
        ]
        return
    graph = (
        nx.read_graphml(file)
        if kind == "graphml"
        else nx.node_link_graph(json.loads(file.read_text()), edges="edges")
    )
    assert set(graph) == {"a", "b", "p", "q"}
    assert {(*sorted(ends), overlay) for *ends, overlay in graph.edges(data="overlay")} == {
        ("a", "b", True),
        ("a", "p", False),
    }
