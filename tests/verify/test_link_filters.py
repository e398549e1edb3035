"""The filters that links carry are those that are wanted behind them, by other code than wires them."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import meshwright as mw
from calls import examples
from meshwright.deploy import named_trees
from meshwright.deploy.named_trees import NamedTrees, TopicTree, filters_by_link
from meshwright.filters.mqtt import without_covered
from meshwright.store.trees import read_trees
from meshwright.verify.filter_groups import Beginnings
from meshwright.verify.link_filters import link_filter_faults
from terminal import meshwright

levels = st.sampled_from(["a", "b", "", "+", "$x"])
filters = st.builds(
    lambda parts, rest: "/".join([*parts, *rest]) or "#",
    st.lists(levels, max_size=3),
    st.sampled_from([[], ["#"]]),
)


@settings(max_examples=examples(300, 60))
@given(st.sets(filters, min_size=1, max_size=8))
def test_cover_is_what_wiring_calls_cover(held: set[str]) -> None:
    """The wiring drops one of two filters if and only if the other one covers it."""
    ordered = sorted(held)
    covered = Beginnings(ordered).covered
    for (here, one), (there, other) in combinations(enumerate(ordered), 2):
        wider, narrower = bool(covered(one) >> there & 1), bool(covered(other) >> here & 1)
        kept = without_covered([one, other])
        assert (len(kept) == 1) == (wider or narrower)
        if wider != narrower:
            assert kept == ((one,) if wider else (other,))


HELD = {
    "a": ["m/#", "x"], "b": ["m/1", "x"], "c": ["m/1", "m/2", "y"], "d": ["m/+", "y"], "e": ["m/2/+", "m/2"],
}  # fmt: skip


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    dataset = mw.write_dataset(mw.Interest.of(HELD, kind="mqtt"), tmp_path / "dataset", topic_kind="mqtt")
    assert meshwright("plan", dataset, "--algorithm", "gm", "--out", tmp_path / "plan").code == 0
    assert meshwright("route", tmp_path / "plan", dataset).code == 0
    return tmp_path / "plan"


def test_each_wrong_direction_is_found(plan: Path) -> None:
    """One filter less or more, or another direction, on any link is a fault; as wired, none is."""
    stored = read_trees(plan)
    tree = NamedTrees.from_plan(stored).trees["m/#"]
    carried = {(u, v): filters for u, v, filters in filters_by_link("m/#", tree)}
    assert len(carried) == 8

    def faults(changed: dict[tuple[str, str], tuple[str, ...]]) -> int:
        return len(list(link_filter_faults(stored.tables, stored.plan.group_tables, {"m/#": changed})))

    assert faults(carried) == 0
    for direction, own in carried.items():
        for one in tree.all_filters:
            others = {*own} ^ {one}
            assert faults({**carried, direction: tuple(others)}) == 1
        assert faults({way: carried[way] for way in carried if way != direction}) == 1
        assert faults({**carried, direction: ("else",)}) == 1
    assert faults({**carried, ("a", "z"): ("m/1",)}) == 1


def test_verify_and_export_look_at_what_links_carry(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wiring that forgets a filter fails `verify`, and no broker gets it."""
    export: list[str | Path] = [
        "export",
        plan,
        "--to",
        "mosquitto",
        "--allow-relays",
        "--out",
        tmp_path / "out",
    ]
    verify: list[str | Path] = ["verify", plan, tmp_path / "dataset"]
    assert meshwright(*verify).code == 0

    def forgetful(topic: str, tree: TopicTree) -> object:
        return ((u, v, found[1:]) for u, v, found in filters_by_link(topic, tree))

    monkeypatch.setattr(named_trees, "filters_by_link", forgetful)
    answer = meshwright(*verify)
    assert answer.code == 1
    assert "wrong: links carry other filters of the group 'm/#' than are wanted: 'a → " in answer.out
    assert "links carry other filters" in meshwright(*export).complaint
    assert not (tmp_path / "out").exists()
    monkeypatch.undo()
    assert meshwright(*export).code == 0


def test_verify_says_where_it_leaves_out_what_takes_long(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a number of links and filters, `verify` does not wire a plan, and lists that as unchecked."""
    interest = mw.Interest.of(HELD, kind="mqtt")
    assert "filters_by_link" not in mw.verify(plan, interest).unchecked
    monkeypatch.setattr("meshwright.actions.verify.MOST_ON_LINKS", 3)
    assert "filters_by_link" in mw.verify(plan, interest).unchecked
