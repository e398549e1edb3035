"""Wiring: of each link the later end dials, newcomers come last, and names are safe in paths and settings."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.deploy.named_trees import NamedTrees, TopicTree
from meshwright.deploy.wiring import (
    LONGEST_FOLDER,
    Wiring,
    check_broker_names,
    client_id,
    folder_of,
    local_client_id,
    rewire,
    wire,
)
from meshwright.errors import InputError

TRIANGLE = NamedTrees(
    ("a", "b", "c"),
    {
        "x": TopicTree((("a", "b"), ("b", "c")), frozenset("abc")),
        "y": TopicTree((("c", "b"),), frozenset("bc"), publishers={"a": "c"}),
    },
)


def test_the_later_end_dials() -> None:
    """Each link is one bridge from the later broker to the earlier one, with all topics of both trees."""
    wiring = wire(TRIANGLE)
    assert wiring.order == ("a", "b", "c")
    assert wiring.bridges == {
        ("b", "a"): {"x": "both"},
        ("c", "a"): {"y": "in"},
        ("c", "b"): {"x": "both", "y": "both"},
    }
    assert list(wiring.bridges) == [("b", "a"), ("c", "a"), ("c", "b")]
    assert wiring.topic_lines == 4
    assert wiring.dialled_by("c") == {"a": {"y": "in"}, "b": {"x": "both", "y": "both"}}
    assert wiring.dialled_to("a") == {"b": {"x": "both"}, "c": {"y": "in"}}
    assert (wiring.dialled_by("a"), wiring.dialled_to("c")) == ({}, {})


def test_a_known_order_stays() -> None:
    """Brokers of a known order keep it, those that are gone are left out, and newcomers dial."""
    wiring = wire(TRIANGLE, ["z", "c", "a"])
    assert wiring.order == ("c", "a", "b")
    assert wiring.bridges == {
        ("a", "c"): {"y": "out"},
        ("b", "c"): {"x": "both", "y": "both"},
        ("b", "a"): {"x": "both"},
    }


def test_former_topics_are_noted() -> None:
    """What a link carried in an earlier wiring is noted until it carries it again or its listener is gone."""
    first = wire(TRIANGLE)
    only_x = NamedTrees(("a", "b", "c"), {"x": TopicTree((("a", "b"),), frozenset("ab"))})
    second = rewire(only_x, first)
    assert second.former_topics == {("c", "a"): ("y",), ("c", "b"): ("x", "y")}
    only_y = NamedTrees(("b", "c"), {"y": TopicTree((("c", "b"),), frozenset("bc"))})
    third = rewire(only_y, second)
    assert third.former_topics == {("c", "b"): ("x",)}
    assert rewire(TRIANGLE, first).former_topics == {}


@given(st.text(), st.text())
def test_folder_names_are_safe_and_different(one: str, other: str) -> None:
    """Folder names are plain, never begin with a dot, fit a path, and differ for different brokers."""
    names = []
    for broker in (one, other):
        try:
            names.append(folder_of(broker))
        except UnicodeEncodeError:
            return
        assert not set(names[-1]) & set("/\\ >:*?\"'|\n")
        assert not names[-1].startswith(".")
        assert len(names[-1]) <= LONGEST_FOLDER + 17
    assert (names[0] == names[1]) == (one == other)


def test_long_names_are_cut() -> None:
    """A name is cut only beyond the limit, and a digest keeps cut names apart."""
    assert folder_of("x" * LONGEST_FOLDER) == "x" * LONGEST_FOLDER
    one, other = folder_of("x" * 121 + "y"), folder_of("x" * 121 + "z")
    assert one != other
    assert one[:LONGEST_FOLDER] == other[:LONGEST_FOLDER] == "x" * LONGEST_FOLDER
    assert len(one) == LONGEST_FOLDER + 17


def test_client_ids_name_both_ends() -> None:
    """A bridge's ids name dialler and listener, at the dialler with a prefix."""
    assert client_id("a b", "c") == "meshwright.a%20b>c"
    assert local_client_id("a b", "c") == "local.meshwright.a%20b>c"


def test_names_that_differ_only_in_case_are_refused() -> None:
    """Folders that some file systems cannot tell apart are refused, each pair named."""
    check_broker_names(["oslo", "rome"])
    with pytest.raises(InputError, match=r"\('Oslo', 'oslo'\) differ only in case: rename"):
        check_broker_names(["Oslo", "rome", "oslo"])


def test_a_wiring_has_no_former_topics_by_default() -> None:
    """A fresh wiring unsubscribes from nothing."""
    assert Wiring(("a",), {}).former_topics == {}


@pytest.mark.parametrize(
    "name",
    ["plan.md", "federation.json", "running.json", "request.json", "docker-compose.yml", "start-order.txt",
     "PLAN.MD", "answer-1.json", ".update", ".lock"],
)  # fmt: skip
def test_no_broker_takes_the_place_of_a_file(name: str) -> None:
    """A broker named like one of our files has a folder with another name, which gives its name back."""
    assert folder_of(name).lower() != name.lower()
    assert unquote(folder_of(name)) == name
