"""Events on filters: after any events, brokers are interested in exactly the groups of what they hold."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright import Interest
from meshwright.churn import Event, FilterEvents
from meshwright.errors import InputError
from meshwright.filters.filter_plan import FilterChoice, plan_filters
from meshwright.filters.groups import group_numbers

FILTERS = ("a/#", "a/b", "a/+/c", "b/x", "b/+", "c", "d/e")
"""Four groups: below a, below b, c, and d/e."""
HELD = {"n0": ["a/#", "c"], "n1": ["a/b", "b/x"], "n2": ["b/+", "a/+/c", "d/e"]}


def planned_events() -> FilterEvents:
    """Return the filters of three brokers, as planned."""
    return FilterEvents.from_planned(plan_filters(Interest.from_dict(HELD)))


@given(st.data())
@settings(max_examples=60)
def test_groups_follow_the_filters(data: st.DataObject) -> None:
    """The groups that events build up are those of the filters that each broker holds."""
    live = planned_events()
    names = list(FILTERS)
    first = {name: names[number] for name, number in zip(names, group_numbers(names), strict=True)}
    there = {broker: set(own) for broker, own in HELD.items()}
    groups = {broker: {live.group_of[one] for one in own} for broker, own in HELD.items()}
    for number in range(data.draw(st.integers(1, 8))):
        broker = data.draw(st.sampled_from([*there, "new"])) if there else "new"
        own = there.get(broker)
        some = tuple(sorted(data.draw(st.sets(st.sampled_from(FILTERS), min_size=1, max_size=3))))
        if own is None:
            event = Event("join", f"new-{number}", some)
        else:
            kind = data.draw(st.sampled_from(["leave", "crash", "subscribe", "unsubscribe"]))
            event = Event(kind, broker, () if kind in ("leave", "crash") else some)
        name = str(event.node)
        for made in live.on_groups([event]):
            if made.event in ("leave", "crash"):
                del groups[name]
            elif made.event == "unsubscribe":
                groups[name] -= set(made.topics)
            else:
                assert (made.event == "join") == (name not in groups)
                groups[name] = groups.get(name, set()) | set(map(str, made.topics))
        if event.event in ("leave", "crash"):
            del there[name]
        elif event.event == "unsubscribe":
            there[name] = there[name] - set(some)
        else:
            there[name] = there.get(name, set()) | set(some)
        assert live.held == there
        expected = {broker: {live.group_of[one] for one in own} for broker, own in there.items()}
        assert groups == expected
    assert all((first[a] == first[b]) == (live.group_of[a] == live.group_of[b]) for a in names for b in names
               if a in live.group_of and b in live.group_of)  # fmt: skip


def test_new_filters() -> None:
    """A new filter belongs to the one group that it overlaps, or is a group of its own, or is refused."""
    live = planned_events()
    assert live.on_groups([Event("subscribe", "n0", ("b/new", "z/+"))]) == [
        Event("subscribe", "n0", ("b/+", "z/+"))
    ]
    assert live.on_groups([Event("subscribe", "n1", ("z/1",))]) == [Event("subscribe", "n1", ("z/+",))]
    for wide, said in (("#", "joins 5 groups"), ("+/x", "joins 3 groups"), ("a/#/b", "is no MQTT filter")):
        with pytest.raises(InputError, match=said):
            live.on_groups([Event("subscribe", "n1", (wide,))])
    assert live.held["n1"] == {"a/b", "b/x", "z/1"}


def test_what_the_plan_leaves_out_or_replaces() -> None:
    """Excluded and unusable filters change nothing, and a catch-all stands for what it covers."""
    held = {**HELD, "hq": ["#"], "odd": ["wet rain", "secret"], "two": ["secret"]}
    choice = FilterChoice(excluded=("secret",), expanded=("#",), skip_unusable=True)
    live = FilterEvents.from_planned(plan_filters(Interest.from_dict(held), choice))
    assert live.on_groups([Event("join", "new", ("secret", "wet snow"))]) == []
    assert live.on_groups([Event("subscribe", "new", ("#",))]) == [
        Event("join", "new", ("a/#", "b/+", "c", "d/e"))
    ]
    assert live.on_groups([Event("join", "idle", ("secret",))]) == []
    assert live.on_groups([Event("leave", "idle")]) == []
    assert live.on_groups([Event("leave", "new")]) == [Event("leave", "new")]


def test_brokers_that_are_not_there_or_already_are() -> None:
    """Events of unknown brokers and joins of known ones are refused, and nothing happens."""
    live = planned_events()
    for event, said in (
        (Event("join", "n0", ("c",)), "'n0' cannot join: they are there already"),
        (Event("leave", "x"), "there are no brokers 'x': let them join first"),
        (Event("subscribe", "x", ("c",)), "there are no brokers 'x'"),
    ):
        with pytest.raises(InputError, match=said):
            live.on_groups([Event("leave", "n2"), event])
    assert live.held == {broker: set(own) for broker, own in HELD.items()}


def test_a_change_of_filters_within_a_group_changes_no_group() -> None:
    """Another filter of the same group, in one batch with the end of the first, is no event for groups."""
    live = planned_events()
    batch = [Event("unsubscribe", "n0", ("a/#",)), Event("subscribe", "n0", ("a/b",))]
    assert live.on_groups(batch) == []
    assert live.held["n0"] == {"a/b", "c"}
