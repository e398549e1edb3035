"""Catch-alls that are expanded stand for the filters and published topics that they cover."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright import Interest
from meshwright.errors import InputError
from meshwright.filters.filter_plan import FilterChoice, plan_filters
from meshwright.filters.mqtt import overlaps
from naive_filters import filters

HELD = {"a": ["#"], "b": ["x/y", "z/+"], "c": ["x/y"]}


def test_a_catch_all_stands_for_what_it_covers() -> None:
    """Its broker joins the groups of covered filters, and of published topics that no filter matches."""
    choice = FilterChoice(expanded=("x/#",), published=("x/q", "w"))
    made = plan_filters(Interest.from_dict(HELD | {"a": ["x/#"]}), choice)
    wanted = {row["topic"] for row in made.groups.to_arrow().to_pylist() if row["node"] == "a"}
    assert wanted == {"x/q", "x/y"}


@pytest.mark.parametrize("choice", [FilterChoice(expanded=("q/#",)), FilterChoice(excluded=("q/#",))])
def test_unknown_filters_are_named(choice: FilterChoice) -> None:
    """A filter that nobody holds can be neither expanded nor excluded."""
    with pytest.raises(InputError, match="'q/#'"):
        plan_filters(Interest.from_dict(HELD), choice)


def test_topics_belong_to_the_group_of_the_filters_that_they_match() -> None:
    """A topic that no filter matches has no group; a filter or an invalid name is no topic."""
    made = plan_filters(Interest.from_dict({"a": ["x/+"], "b": ["x/y", "z/#"], "c": ["w"]}))
    names = made.groups.topic_names.to_pylist()
    found = made.groups_of(["x/q", "none", "w", "x/y", "z/1/2", "x/+", "", "w"])
    assert {topic: names[group] for topic, group in found.items()} == {
        "x/q": names[found["x/y"]],
        "x/y": names[found["x/q"]],
        "w": "w",
        "z/1/2": "z/#",
    }
    assert len(set(found.values())) == 3


@given(st.lists(filters, min_size=1, max_size=8, unique=True))
def test_the_report_says_what_one_filter_overlaps(held: list[str]) -> None:
    """A filter is only said to join its whole group if it overlaps all of it; otherwise it is counted."""
    made = plan_filters(Interest.from_dict({"a": held}))
    if made.widest is None:
        return
    widest, others, size = made.widest
    names = made.held.topic_names.to_pylist()
    assert others == sum(other != widest and overlaps(widest, other) for other in names)
    assert size == made.sizes.max()
    line = made.report()[0]
    assert (f"{widest!r} joins {size} filters into one group" in line) == (others == size - 1)
    assert (f"{widest!r} overlaps the most others, {others};" in line) == (others < size - 1)
