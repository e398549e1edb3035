"""The index of filters agrees with a comparison of all pairs, and its work with the levels of the filters."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from meshwright.filters.filter_plan import FilterChoice, plan_filters
from meshwright.filters.groups import group_numbers
from meshwright.filters.index import FilterIndex, as_bits, positions
from meshwright.filters.mqtt import has_wildcard
from meshwright.interest import Interest
from meshwright.routes.choose import wanted_sets
from meshwright.verify.filter_groups import derive_groups
from naive_filters import ROOTED, filters, naive_covers, naive_overlaps


@given(st.lists(filters, max_size=9), filters)
@example([*ROOTED], "#")
@example([*ROOTED], "+/+")
@example([*ROOTED], "/#")
def test_overlaps_and_covers_are_those_of_all_pairs(held: list[str], one: str) -> None:
    """What overlaps a filter, or is covered by it, is what an enumeration of topics says."""
    index = FilterIndex(held)
    assert positions(index.overlapping(one)) == [
        at for at, own in enumerate(held) if naive_overlaps(own, one)
    ]
    assert positions(index.covered(one)) == [at for at, own in enumerate(held) if naive_covers(one, own)]


@given(st.lists(filters, max_size=9), filters, st.sets(st.integers(0, 8)))
def test_only_those_asked_for_are_looked_at(held: list[str], one: str, among: set[int]) -> None:
    """A search among some filters finds those of them that a search among all finds."""
    index, asked = FilterIndex(held), as_bits(sorted(among)) & ((1 << len(held)) - 1)
    assert index.overlapping(one, asked) == index.overlapping(one) & asked


@given(
    st.lists(filters, max_size=9),
    st.lists(filters, max_size=5),
    st.sampled_from([0, 2, 32]),
    st.sampled_from([0, 2, 2**16]),
)
@example(["a/+/+/d", "+/b/c/#", "a/b/c/d/e"], ["a/x/c/e", "a/x/c", "a/b/d", "x/b/c", "a/b/c/d/f"], 32, 9)
@example([*ROOTED], [held for held in ROOTED if not has_wildcard(held)], 32, 9)
def test_the_first_match_is_a_match(held: list[str], topics: list[str], few: int, kept: int) -> None:
    """A topic finds a filter that matches it, if any, also where few beginnings or none are kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("meshwright.filters.index.FEW", few)
        patch.setattr("meshwright.filters.index.CACHED_BEGINNINGS", kept)
        index = FilterIndex(held)
        for topic in (topic for topic in topics if not has_wildcard(topic)):
            matching = positions(index.overlapping(topic))
            assert index.first_match(topic) in (matching or [-1])


@given(st.sets(st.integers(0, 300)))
def test_sets_are_integers(numbers: set[int]) -> None:
    """A set of numbers comes back from its bits."""
    assert positions(as_bits(sorted(numbers))) == sorted(numbers)


def _deep(count: int, levels: int, last: str) -> list[str]:
    """Return filters of which all pairs are compatible up to the last level."""
    rng = random.Random(1)
    made = ("/".join(rng.choice("+a") for _ in range(levels - 1)) for _ in range(count))
    return [f"{held}/{last.format(number)}" for number, held in enumerate(made)]


@pytest.mark.parametrize(("last", "groups"), [("end{}", 2000), ("#", 1), ("+", 1)])
def test_work_is_bounded_by_the_sum_of_levels(last: str, groups: int) -> None:
    """2,000 filters of 200 levels, however far their beginnings agree, take a second or two, not minutes."""
    held = _deep(2000, 200, last)
    began = time.process_time()
    assert len(set(group_numbers(held))) == groups
    interest = Interest.from_dict({f"b{at}": held[at::10] for at in range(10)})
    planned = plan_filters(interest, FilterChoice(expanded=("auto",)))
    planned.report()
    derived = derive_groups(interest, planned.choice.to_dict())
    assert derived.groups == {row["filter"]: row["group"] for row in planned.table().to_pylist()}
    assert time.process_time() - began < 10


@pytest.mark.slow
@pytest.mark.parametrize("last", ["end{}", "#"])
def test_a_hundred_thousand_filters(last: str) -> None:
    """100,000 filters of 17 levels: their groups, and who wants which message, take 10 s of CPU each."""
    held = ["#", *dict.fromkeys(_deep(100_000, 17, last))]
    began = time.process_time()
    assert set(group_numbers(held)) == {0}
    assert time.process_time() - began < 10
    planned = plan_filters(Interest.from_dict({f"b{at}": held[at::40] for at in range(40)}))
    began = time.process_time()
    assert sum(wanted_sets(planned, 0, range(40)).values()) <= 256
    assert time.process_time() - began < 10
