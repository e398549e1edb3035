"""What is planned of subscriptions is the same from Python as from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import meshwright as mw
from meshwright.actions.sources import Source, TopicChoice, group_topics, load_source
from meshwright.designs.design import design as design_topics
from meshwright.errors import EmptySourceError, InputError
from terminal import meshwright

FILTERS = {"a": ["x/#"], "b": ["x/y"], "c": ["x/y"]}
"""The filter of a covers that of b and c: all three need each message on x/y."""


def write_rows(subscriptions: dict[str, list[str]], file: Path) -> Path:
    """Write subscriptions as a CSV file."""
    rows = [f"{node},{topic}" for node, topics in subscriptions.items() for topic in topics]
    file.write_text("\n".join(["node,topic", *rows]) + "\n")
    return file


def test_overlapping_filters_are_planned_as_one_topic(tmp_path: Path) -> None:
    """The broker of a filter is linked to those of the topics that it covers, and the plan is kept so."""
    plan = mw.design(mw.load(write_rows(FILTERS, tmp_path / "file.csv")))
    assert plan.overlay.edges == [("a", "b"), ("a", "c")]
    assert mw.verify(plan).passed
    again = mw.load(plan.save(tmp_path / "plan"), mw.load(tmp_path / "file.csv"))
    assert again.filters is not None
    assert again.overlay.edges == plan.overlay.edges
    assert mw.verify(tmp_path / "plan", tmp_path / "file.csv").passed


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    held=st.dictionaries(
        st.sampled_from("abcd"),
        st.lists(st.sampled_from(["x/#", "x/y", "+/y", "y", "x", "#"]), min_size=1, max_size=3, unique=True),
        min_size=2,
    ),
    dataset=st.booleans(),
)
def test_python_and_the_command_line_plan_the_same(
    held: dict[str, list[str]], dataset: bool, tmp_path: Path
) -> None:
    """From a file or a dataset, `mw.design`, `mw.compare` and `mw.advise` make the links of `meshwright`."""
    source = write_rows(held, tmp_path / "file.csv")
    if dataset:
        source = mw.save(mw.load(source), tmp_path / "dataset")
    interest = mw.load(source)
    made = meshwright("plan", source, "--out", tmp_path / "plan", "--force")
    assert made.code == 0, made.err
    edges = mw.read_plan(tmp_path / "plan").edges
    links = list(zip(edges["u"].to_pylist(), edges["v"].to_pylist(), strict=True))
    plan = mw.design(interest)
    assert plan.overlay.edges == links
    assert mw.compare(interest, ["gm"])["gm"].overlay.edges == links
    advised = mw.advise(interest, steps=0).plan
    assert advised is not None
    for each in (plan, advised):
        assert mw.verify(each).passed
        assert (each.filters is None) == (interest.kind == "plain")


def test_who_builds_an_interest_states_its_kind(tmp_path: Path) -> None:
    """Topics are plain unless stated otherwise; the kind is kept by datasets, copies and restrictions."""
    plain, mqtt = mw.Interest.of(FILTERS), mw.Interest.of(FILTERS, kind="mqtt")
    assert (plain.kind, mqtt.kind) == ("plain", "mqtt")
    assert plain.fingerprint == mqtt.fingerprint
    assert mw.design(plain).overlay.edges == [("b", "c")]
    assert mw.design(mqtt).overlay.edges == [("a", "b"), ("a", "c")]
    assert mqtt.canonical().kind == mqtt.restrict([0]).kind == mw.Interest.of(mqtt).kind == "mqtt"  # type: ignore[arg-type]
    for interest in (plain, mqtt):
        assert mw.load(mw.save(interest, tmp_path / interest.kind)).kind == interest.kind
        assert mw.load(interest).kind == interest.kind
        assert mw.load(tmp_path / interest.kind, kind="plain").kind == "plain"
    assert mw.load(mqtt.to_arrow()).kind == "mqtt"
    assert mw.load(write_rows({"a": ["x"], "b": ["x"]}, tmp_path / "plain.csv")).kind == "plain"
    wrong: Any = "MQTT"
    with pytest.raises(InputError, match="choose mqtt or plain"):
        mw.Interest.of(FILTERS, kind=wrong)


def test_a_plan_that_splits_overlapping_filters_is_refused() -> None:
    """A design below the actions takes filters as plain topics, and verification says so."""
    report = mw.verify(design_topics(mw.Interest.of(FILTERS, kind="mqtt")))
    assert not report.passed
    assert "MQTT filters that overlap are not planned as one topic" in report.disagreements


def test_false_groups_are_refused() -> None:
    """The groups of a plan in memory are derived again from its filters."""
    plan = mw.design(mw.Interest.of({**FILTERS, "d": ["z"]}, kind="mqtt"))
    assert plan.filters is not None
    plan.filters.group_of[:] = 0
    report = mw.verify(plan)
    assert any("are not as stated" in line for line in report.disagreements)


def test_costs_are_those_of_the_brokers() -> None:
    """Link costs made for an interest of filters weigh the links between groups."""
    interest = mw.Interest.of(FILTERS, kind="mqtt")
    costs = mw.LinkCosts.from_coordinates(interest, ["a", "b", "c"], [0, 3, 0], [0, 4, 2])
    plan = mw.design(interest, costs=costs)
    assert plan.figures["total_cost"] == 2 + 13**0.5
    assert mw.verify(plan).passed


def test_choices_of_filters(tmp_path: Path) -> None:
    """Excluded filters are no part of the plan; plain topics take no such choice."""
    file = write_rows({"a": ["x/#", "x/y"], "b": ["x/y"]}, tmp_path / "file.csv")
    planned = load_source(Source(str(file), topics=TopicChoice(exclude=["x/#"])))
    assert planned.interest.topic_names.to_pylist() == ["x/y"]
    assert planned.source.topic_names.to_pylist() == ["x/#", "x/y"]
    assert planned.guessed
    with pytest.raises(InputError, match="apply to MQTT filters"):
        load_source(Source(str(file), topics=TopicChoice(topic_kind="plain", exclude=["x/#"])))
    with pytest.raises(InputError, match="published topics for --expand"):
        TopicChoice(rates=tmp_path)


def test_notes_and_empty_sources(tmp_path: Path) -> None:
    """Repeated subscriptions are noted; a source without any is refused unless that is allowed."""
    twice = load_source(Source(str(write_rows({"a": ["x", "x"]}, tmp_path / "twice.csv"))))
    assert twice.notes == (f"dropped 1 repeated subscription of {tmp_path / 'twice.csv'}",)
    none = Source(str(write_rows({}, tmp_path / "none.csv")))
    with pytest.raises(EmptySourceError, match="has no subscriptions: name one"):
        load_source(none)
    assert load_source(none, allow_empty=True).interest.num_subscriptions == 0
    phases: list[str] = []
    load_source(Source(str(tmp_path / "twice.csv")), progress=lambda done, share, phase: phases.append(phase))
    assert phases == [f"reading {tmp_path / 'twice.csv'}"]


def test_an_interest_is_planned_as_it_is() -> None:
    """Plain topics stay as they are."""
    interest = mw.Interest.of(FILTERS)
    assert group_topics(interest).interest is interest
