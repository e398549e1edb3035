"""Groups of filters derived again, by other code: the same as planned, and every change is noticed."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.designs.design import design
from meshwright.filters.filter_plan import FilterChoice, catch_alls, plan_filters
from meshwright.filters.mqtt import covers, has_wildcard, matches
from meshwright.interest import Interest
from meshwright.store.plan_check import verify_stored_plan
from meshwright.store.plan_writer import write_plan
from meshwright.verify.filter_groups import _covered, derive_groups
from naive_filters import ROOTED, filters

HELD = {"a": ["m/#", "x"], "b": ["m/n", "$share/g/x"], "c": ["m/+", "y", "a b"], "d": ["#"]}


@given(
    st.dictionaries(st.sampled_from("abcde"), st.sets(filters, max_size=5), min_size=1),
    st.booleans(),
    st.booleans(),
    st.lists(st.sampled_from(["a/b", "b", "x", "$s/a"]), max_size=3),
)
def test_both_derive_the_same(
    held: dict[str, set[str]], skip: bool, expand: bool, published: list[str]
) -> None:
    """Filters, groups, holders and interest are the same, with expansions and without."""
    interest = Interest.from_dict(held)
    choice = FilterChoice(
        excluded=tuple(sorted(interest.topic_names.to_pylist())[:1]),
        expanded=("auto",) if expand else (),
        skip_unusable=skip,
        published=tuple(published),
    )
    planned = plan_filters(interest, choice)
    derived = derive_groups(interest, planned.choice.to_dict())
    assert derived.groups == {row["filter"]: row["group"] for row in planned.table().to_pylist()}
    relation = planned.held.to_arrow()
    assert derived.holders == set(
        zip(relation.column("node").to_pylist(), relation.column("topic").to_pylist(), strict=True)
    )
    assert derived.interest.fingerprint == planned.groups.fingerprint


@pytest.mark.parametrize("wide", ROOTED)
def test_filters_from_the_root_are_derived_alike(wide: str) -> None:
    """Groups and expansions with an empty first level are those of the plan, too."""
    for other in ROOTED:
        interest = Interest.from_dict({"a": {wide}, "b": {other, "/x", "y"}})
        choice = FilterChoice(expanded=(wide,) if has_wildcard(wide) and "$" not in wide else ())
        planned = plan_filters(interest, choice)
        derived = derive_groups(interest, planned.choice.to_dict())
        assert derived.groups == {row["filter"]: row["group"] for row in planned.table().to_pylist()}
        assert derived.interest.fingerprint == planned.groups.fingerprint


def test_auto_expands_catch_alls() -> None:
    """A filter that covers more than half of the others is a catch-all, wherever its wildcards are."""
    assert catch_alls(["#", "a/b", "a/c"]) == ["#"]
    assert catch_alls(["+/+", "a/b", "a/c", "x"]) == ["+/+"]
    assert catch_alls(["a/#", "b/#", "a/b", "b/c"]) == []
    assert catch_alls([]) == []


def stored(folder: Path) -> tuple[Path, Interest]:
    """Write a plan of groups."""
    interest = Interest.from_dict(HELD)
    planned = plan_filters(interest, FilterChoice(expanded=("#",), skip_unusable=True))
    made = design(planned.groups, "gm")
    object.__setattr__(made, "filters", planned)
    return write_plan(made, folder / "plan"), interest


def test_a_stored_plan_of_groups_is_verified(tmp_path: Path) -> None:
    """The plan as written passes."""
    plan, interest = stored(tmp_path)
    report = verify_stored_plan(plan, interest)
    assert report.passed, report.disagreements
    assert report.overlay is not None
    assert report.overlay.interest.topic_names.to_pylist() == ["m/#", "x", "y"]


@pytest.mark.parametrize(
    ("file", "column", "name", "said"),
    [
        ("groups", "group", "m/n", "the groups of the filters 'm/#'"),
        ("groups", "group", "x", "the groups of the filters 'm/#'"),
        ("holders", "filter", "y", "the filters of the brokers 'a'"),
    ],
)
def test_a_changed_table_is_noticed(tmp_path: Path, file: str, column: str, name: str, said: str) -> None:
    """Another group, another filter or another holder in the plan's tables is a disagreement."""
    plan, interest = stored(tmp_path)
    path = plan / f"{file}.parquet"
    table = pq.read_table(path)
    values = [name, *table.column(column).to_pylist()[1:]]
    changed = table.set_column(table.column_names.index(column), column, pa.array(values))
    pq.write_table(changed.cast(table.schema), path)
    report = verify_stored_plan(plan, interest)
    assert not report.passed
    assert any(said in line for line in report.disagreements)


bare = filters.filter(lambda held: not held.startswith("$share/"))


@settings(max_examples=200)
@given(bare, st.lists(bare, max_size=6, unique=True), st.lists(bare, max_size=4, unique=True))
def test_what_a_catch_all_stands_for(wide: str, others: list[str], published: list[str]) -> None:
    """It stands for the filters that it covers, and for published topics of it that none of these matches."""
    topics = [topic for topic in published if not has_wildcard(topic)]
    by = [other for other in others if covers(wide, other)]
    more = {
        topic
        for topic in topics
        if matches(wide, topic) and topic not in by and not any(matches(one, topic) for one in by)
    }
    found = _covered(wide, others, topics)
    assert list(found[: len(by)]) == by
    assert set(found[len(by) :]) == more
    assert len(found) == len(by) + len(more)
