"""Commands on MQTT filters: groups are planned, the choice stays in the plan, and mistakes are explained."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import meshwright as mw
from meshwright.interest import Interest
from meshwright.names import TopicKind
from meshwright.store.datasets import read_topic_kind, write_dataset
from meshwright.store.interest_files import load_interest
from meshwright.store.plans import read_plan
from terminal import meshwright

ROWS = """node,topic
berlin,site1/#
berlin,+/+/state
oslo,site1/a/temp
oslo,site2/a/state
malmö,$share/g/site2/a/state
malmö,wet rain
hq,#
hq,lone
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a CSV file with filters that overlap."""
    path = tmp_path / "filters.csv"
    path.write_text(ROWS, encoding="utf-8")
    return path


def test_groups_are_planned_routed_verified_and_exported(tmp_path: Path, file: Path) -> None:
    """From a file to bridges, without a flag that is repeated: the plan keeps the choice."""
    plan, out = tmp_path / "plan", tmp_path / "out"
    answer = meshwright("plan", file, "--exclude-topic", "unusable", "--expand", "#", "--out", plan)
    assert answer.code == 0
    assert "filters overlap, in 1 group: '+/+/state' overlaps the most others, 2; use" in answer.out
    assert "skipped: 'wet rain'" in answer.out
    assert "'#' stands for 5 filters; its brokers miss topics that nobody else asked for" in answer.out
    assert "topics have wildcards, so they are MQTT filters" in answer.out
    for words in (("route", plan, file), ("verify", plan, file), ("diff", plan, plan)):
        assert meshwright(*words).code == 0
    assert meshwright("export", plan, "--to", "mosquitto", "--out", out).code == 0
    lines = "".join(conf.read_text() for conf in out.glob("*/mosquitto.conf"))
    assert "topic site1/#" in lines
    assert "topic #" not in lines
    stored = read_plan(plan)
    assert stored.metadata["topics"]["expanded"] == ["#"]
    assert stored.planned_interest(load_interest(file)).topic_names.to_pylist() == ["+/+/state", "lone"]


def test_a_monitor_is_linked(tmp_path: Path, file: Path) -> None:
    """A broker that holds `#` is connected with all others; as plain names it would be linked to nobody."""
    words = ("plan", file, "--out", tmp_path / "plan", "--json")
    answer = meshwright(*words, "--exclude-topic", "unusable").json
    assert (answer["edges"], answer["topics"]) == (3, 1)
    assert answer["topics_planned"]["joins_most"] == "#"
    plain = meshwright(*words, "--topic-kind", "plain", "--force").json
    assert plain["edges"] == 0


def test_unusable_filters_are_reported(tmp_path: Path, file: Path) -> None:
    """A filter that no bridge can carry is reported at plan, and refused where a bridge would need it."""
    plan = tmp_path / "plan"
    answer = meshwright("plan", file, "--out", plan)
    assert "no bridge can carry these; leave them out with --exclude-topic unusable: 'wet rain'" in answer.out
    assert meshwright("route", plan, file).code == 0
    refused = meshwright("export", plan, "--to", "mosquitto", "--out", tmp_path / "out")
    assert "'wet rain'" in refused.complaint
    assert "--exclude-topic unusable" in refused.complaint


def test_excluded_filters_are_left_out(tmp_path: Path, file: Path) -> None:
    """Excluded filters are counted and recorded, and groups come apart without them."""
    words: list[str | Path] = ["plan", file, "--exclude-topic", "unusable", "--out", tmp_path / "plan"]
    answer = meshwright(*words, "--exclude-topic", "#", "--exclude-topic", "+/+/state")
    assert "excluded: 2 filters, '#', '+/+/state'" in answer.out
    assert read_plan(tmp_path / "plan").metadata["topics"]["excluded"] == ["#", "+/+/state"]
    unknown = meshwright(*words, "--exclude-topic", "none", "--force").complaint
    assert "cannot exclude the filters 'none'" in unknown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--topic-kind", "x"], "no topic kind 'x': choose mqtt or plain"),
        (["--topic-kind", "plain", "--expand", "#"], "apply to MQTT filters: add --topic-kind mqtt"),
        (["--expand", "lone"], "it has no wildcard"),
        (["--rates", "none"], "--rates names published topics for --expand"),
    ],
)
def test_mistakes(tmp_path: Path, file: Path, words: list[str], said: str) -> None:
    """Options that do not fit give one line, and no plan is written."""
    assert said in meshwright("plan", file, *words, "--out", tmp_path / "plan").complaint
    assert not (tmp_path / "plan").exists()


def test_invalid_filters_name_the_way_out(tmp_path: Path) -> None:
    """A filter that no broker matches is refused, skipped, or taken as a plain name."""
    file = tmp_path / "a.csv"
    file.write_text("node,topic\na,x/#/y\nb,x/#\n")
    words: list[str | Path] = ["plan", file, "--out", tmp_path / "plan"]
    assert "'x/#/y' is no MQTT filter: # must be the whole last level" in meshwright(*words).complaint
    assert meshwright(*words, "--exclude-topic", "unusable").code == 0
    assert meshwright(*words, "--topic-kind", "plain", "--force").code == 0


def test_datasets_record_the_kind(tmp_path: Path) -> None:
    """A dataset says whether its topics are filters: as given, or as the interest says."""
    stated: tuple[tuple[TopicKind, TopicKind | None, TopicKind], ...] = (
        ("mqtt", None, "mqtt"),
        ("plain", None, "plain"),
        ("mqtt", "plain", "plain"),
    )
    for kind, given, kept in stated:
        interest = Interest.from_dict({"n": ["a/#"]}, kind=kind)
        write_dataset(interest, tmp_path / "dataset", topic_kind=given)
        assert read_topic_kind(tmp_path / "dataset") == kept
        assert load_interest(tmp_path / "dataset").kind == kept
    answer = meshwright("plan", tmp_path / "dataset", "--out", tmp_path / "plan")
    assert (answer.code, answer.err) == (0, "")


def test_compare_and_advise_work_on_groups(file: Path) -> None:
    """Designs are compared on groups, not on filters."""
    words = ("--exclude-topic", "unusable", "--json")
    compared = meshwright("compare", file, "--algorithms", "gm,low", *words).json
    assert [plan["topics"] for plan in compared["plans"]] == [1, 1]
    advised = meshwright("advise", file, "--steps", "10", *words).json
    assert {plan["topics"] for plan in advised["plans"]} == {1}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Broker;Filter\na;x\nb;x\n", ["--delimiter", ";", "--node", "Broker", "--topic", "Filter"]),
        ("a\tx\nb\tx\n", ["--delimiter", "tab", "--no-header"]),
    ],
)
def test_any_file_is_accepted(tmp_path: Path, text: str, words: list[str]) -> None:
    """Names of columns, separators and missing headers are options of every command that reads a file."""
    file, plan = tmp_path / "export.txt", tmp_path / "plan"
    file.write_text(text)
    assert meshwright("plan", file, *words, "--out", plan).code == 0
    for command in ("route", "verify"):
        assert meshwright(command, plan, file, *words).code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "--out", "made"),
        ("profile",),
        ("compare", "--algorithms", "gm"),
        ("advise", "--steps", "1"),
        ("soc", "--links", "1"),
        ("sample", "--nodes", "1", "--out", "made"),
    ],
)
def test_nothing_is_answered_about_an_empty_file(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Each command says in one line that there is nothing, with exit code 1; JSON stays one document."""
    file = tmp_path / "a.csv"
    file.write_text("node,topic\n")
    command, *options = (str(tmp_path / word) if word == "made" else word for word in words)
    answer = meshwright(command, file, *options)
    assert (answer.code, answer.out) == (1, "")
    assert f"{file} has no subscriptions: " in answer.err
    assert len(answer.err.splitlines()) == 1
    document = meshwright(command, file, *options, "--json")
    assert (document.code, document.json) == (1, {"source": str(file), "subscriptions": 0})
    assert not (tmp_path / "made").exists()


def test_counts_of_one_filter_are_singular(tmp_path: Path) -> None:
    """One filter, group, subscription, level, bridge: no line has a plural for them."""
    file, plan = tmp_path / "a.csv", tmp_path / "plan"
    file.write_text("node,topic\na,x/#\na,x/#\nb,x/y\na,lone\n")
    (tmp_path / "a.conf").write_text("listener 1 localhost\n")
    texts = []
    for words in (
        ("plan", file, "--exclude-topic", "lone", "--out", plan),
        ("plan", file, "--expand", "x/#", "--out", tmp_path / "expanded"),
        ("route", plan, file),
        ("chaos", plan, file, "--samples", "1"),
        ("churn", plan, file, "--rounds", "1"),
        ("sample", file, "--nodes", "2", "--from", "a", "--out", tmp_path / "sample"),
        ("lint", tmp_path / "a.conf"),
    ):
        answer = meshwright(*words)
        assert answer.code == 0, answer.err
        texts.append(answer.out + answer.err)
    text = "\n".join(texts)
    assert "dropped 1 repeated subscription of" in text
    assert "excluded: 1 filter, 'lone'" in text
    assert "'x/#' stands for 1 filter; " in text
    assert "topics are one group of 2 MQTT filters, as planned" in text
    assert "from a, 1 level\n" in text
    assert "1 broker, 0 bridges: nothing found" in text
    assert not re.search(r"\b1 (MQTT )?(filters|groups|levels|brokers|bridges|subscriptions)\b", text)


def test_what_is_left_out_is_named_once(tmp_path: Path) -> None:
    """The reason follows one filter that is skipped; among several, it says whose reason it is."""
    file = tmp_path / "a.csv"
    for names, said in (
        (("wet rain",), "skipped: 'wet rain' (it contains"),
        (("dry rain", "wet rain"), "skipped: 'dry rain', 'wet rain' ('dry rain': it contains"),
    ):
        file.write_text("node,topic\na,x/#\nb,x/y\n" + "".join(f"a,{name}\n" for name in names))
        words = ("plan", file, "--exclude-topic", "unusable", "--force", "--out", tmp_path / "plan")
        assert said in meshwright(*words).out


def test_an_empty_file_is_loud(tmp_path: Path) -> None:
    """A plan of nothing has exit code 1, unless it is allowed."""
    file = tmp_path / "a.csv"
    file.write_text("node,topic\n")
    answer = meshwright("plan", file, "--out", tmp_path / "plan")
    assert answer.code == 1
    assert "has no subscriptions" in answer.err
    assert not (tmp_path / "plan").exists()
    assert meshwright("plan", file, "--out", tmp_path / "plan", "--allow-empty").code == 0


def test_a_different_plan_is_kept(tmp_path: Path, file: Path) -> None:
    """Another plan is replaced only with --force; the same one is written again."""
    words: list[str | Path] = ["plan", file, "--out", tmp_path / "plan"]
    assert [meshwright(*words).code for _ in range(2)] == [0, 0]
    for other in (["--algorithm", "ring"], ["--seed", "1"], ["--exclude-topic", "unusable"]):
        assert "replace it with --force" in meshwright(*words, *other).complaint
    assert meshwright(*words, "--algorithm", "ring", "--force").code == 0


def test_churn_chaos_and_soc_work_on_groups(tmp_path: Path, file: Path) -> None:
    """They take a plan's groups as topics, say so, and what churn writes verifies."""
    plan, out, trace = tmp_path / "plan", tmp_path / "out", tmp_path / "events.jsonl"
    assert meshwright("plan", file, "--exclude-topic", "unusable", "--expand", "#", "--out", plan).code == 0
    churned = meshwright("churn", plan, file, "--rounds", "4", "--out", out)
    assert churned.code == 0, churned.err
    assert "4 brokers, 2 topics, 5 subscriptions; 4 rounds" in churned.out
    assert "topics are the 2 groups of 5 MQTT filters, as planned" in churned.out
    assert read_topic_kind(out / "dataset") == "plain"
    assert meshwright("verify", out / "plan", out / "dataset").code == 0
    trace.write_text(
        '{"event": "join", "node": "rome", "topics": ["site1/b/temp", "#", "wet snow"]}\n'
        '{"event": "subscribe", "node": "oslo", "topics": ["site1/#"]}\n'
    )
    replayed = meshwright("churn", plan, file, "--trace", trace, "--json")
    assert replayed.code == 0, replayed.err
    assert (replayed.json["joins"], replayed.json["rounds"], replayed.json["filters"]) == (1, 1, 5)
    trace.write_text('{"event": "join", "node": "rome", "topics": ["+/#"]}\n')
    joins = meshwright("churn", plan, file, "--trace", trace).complaint
    assert "round 1: filter '+/#' joins 2 groups of the plan, '+/+/state', 'lone': plan again" in joins
    for command, *words in (["chaos", "--samples", "2"], ["soc", "--degree", "3", "--cost", "0"]):
        answer = meshwright(command, plan, file, *words)
        assert (answer.code, answer.err) == (0, "")
        assert "topics are the 2 groups of 5 MQTT filters" in answer.out


def test_soc_asks_for_overlays_of_groups(tmp_path: Path, file: Path) -> None:
    """Without a plan, overlapping filters count as one topic, and the witness is a plan of groups."""
    answer = meshwright(
        "soc", file, "--links", "3", "--exclude-topic", "unusable", "--out", tmp_path / "plan", "--json"
    )
    assert (answer.json["answer"], answer.json["topics_planned"]["groups"]) == ("yes", 1)
    assert meshwright("verify", tmp_path / "plan", file).code == 0
    assert meshwright("soc", file, "--links", "2", "--exclude-topic", "unusable").code == 1
    plain = meshwright("soc", file, "--links", "0", "--topic-kind", "plain")
    assert plain.code == 0
    words = ["--degree", "3", "--cost", "0", "--exclude-topic", "unusable"]
    refused = meshwright("soc", tmp_path / "plan", file, *words).complaint
    assert "--exclude-topic asks whether some overlay exists" in refused


def test_plans_of_groups_load_in_python(tmp_path: Path, file: Path) -> None:
    """A certified plan of groups is loaded with its groups and prices, and saved again as it was."""
    words: list[str | Path] = [
        "plan",
        file,
        "--exclude-topic",
        "unusable",
        "--certify",
        "--out",
        tmp_path / "plan",
    ]
    assert meshwright(*words).code == 0
    plan = mw.load(tmp_path / "plan", file)
    assert plan.overlay.interest.num_topics == 1
    mw.save(plan, tmp_path / "again")
    assert meshwright("verify", tmp_path / "again", file).code == 0
