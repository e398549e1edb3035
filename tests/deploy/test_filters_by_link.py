"""Groups of filters on a tree: what each link carries, and what then becomes of every message."""

from __future__ import annotations

from collections import Counter, deque

from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.deploy.named_trees import NamedTrees, TopicTree, filters_by_link, neighbours
from meshwright.deploy.proof.prediction import names_for, predict
from meshwright.deploy.targets.mosquitto.render import lines_overlap
from meshwright.deploy.wiring import Wiring, wire
from meshwright.filters.mqtt import matches
from naive_filters import TOPICS, filters, naive_covers, naive_matches, naive_overlaps


@st.composite
def group_trees(draw: st.DrawFn) -> TopicTree:
    """Draw a tree of up to seven brokers with filters, which need not overlap; inner ones may hold none."""
    size = draw(st.integers(2, 7))
    links = tuple((f"b{draw(st.integers(0, child - 1))}", f"b{child}") for child in range(1, size))
    held = {
        f"b{number}": frozenset(draw(st.sets(filters.map(_unshared), min_size=1, max_size=3)))
        for number in range(size)
    }
    degree = Counter(broker for link in links for broker in link)
    relays = frozenset(b for b in held if degree[b] > 1 and draw(st.booleans()) and draw(st.booleans()))
    if len(relays) == size:
        relays = frozenset()
    kept = {broker: own for broker, own in held.items() if broker not in relays}
    publishers = {"p": draw(st.sampled_from(sorted(held)))} if draw(st.booleans()) else {}
    return TopicTree(links, frozenset(kept), relays, publishers, kept)


def _unshared(held: str) -> str:
    return held.split("/", 2)[2] if held.startswith("$share/") else held


def behind(tree: TopicTree, sender: str, receiver: str) -> set[str]:
    """Return the filters that brokers hold on the receiver's side of a link."""
    near, seen, queue = neighbours(tree.links), {sender, receiver}, deque([receiver])
    held: set[str] = set()
    while queue:
        here = queue.popleft()
        held |= tree.filters.get(here, frozenset())
        queue += [there for there in near.get(here, []) if there not in seen]
        seen.update(near.get(here, []))
    return held


@settings(max_examples=20)
@given(group_trees())
def test_lines_match_what_is_wanted_behind(tree: TopicTree) -> None:
    """Per link and direction, the lines match a topic if and only if somebody behind the link wants it."""
    for sender, receiver, lines in filters_by_link("group", tree):
        wanted = set(tree.all_filters) if sender in tree.publishers else behind(tree, sender, receiver)
        for topic in TOPICS:
            assert any(naive_matches(one, topic) for one in lines) == any(
                naive_matches(one, topic) for one in wanted
            )
        assert set(lines) <= wanted
        assert not any(naive_covers(one, other) for one in lines for other in lines if one != other)


def simulate(wiring: Wiring, origin: str, topic: str) -> Counter[str]:
    """Publish at a broker and flood the bridges: each passes a message on once, never back to its sender."""
    seen: Counter[str] = Counter()
    queue = deque([(origin, "")])
    while queue:
        here, before = queue.popleft()
        seen[here] += 1
        assert seen[here] < 3
        for (dialler, listener), lines in wiring.bridges.items():
            for sender, receiver, ways in (
                (dialler, listener, ("out", "both")), (listener, dialler, ("in", "both"))
            ):  # fmt: skip
                crosses = any(way in ways and naive_matches(one, topic) for one, way in lines.items())
                if sender == here and receiver != before and crosses:
                    queue.append((receiver, here))
    return seen


@given(group_trees(), st.sampled_from(TOPICS), st.data())
def test_every_message_arrives_once_and_is_relayed_as_predicted(
    tree: TopicTree, topic: str, data: st.DataObject
) -> None:
    """A message reaches each broker that wants it once, and others only where the prediction says so."""
    brokers = sorted(tree.carriers | set(tree.publishers))
    origin = data.draw(st.sampled_from(brokers))
    seen = simulate(wire(NamedTrees(tuple(brokers), {"group": tree})), origin, topic)
    due, relays = predict(tree, origin, topic)
    wants = {b for b, held in tree.filters.items() if any(naive_matches(one, topic) for one in held)}
    assert due == wants | {origin}
    assert seen == dict.fromkeys(due | relays, 1)


@given(st.dictionaries(filters.map(_unshared), st.sampled_from(["in", "out", "both"]), max_size=5))
def test_the_protocol_follows_overlaps_of_one_direction(lines: dict[str, str]) -> None:
    """MQTT 5 is used unless two topics of the same direction overlap."""
    expected = any(
        one < other and naive_overlaps(one, other) and "both" in (lines[one], lines[other], "both")
        and (lines[one] == lines[other] or "both" in (lines[one], lines[other]))
        for one in lines
        for other in lines
    )  # fmt: skip
    assert lines_overlap(lines) == expected


@given(group_trees())
def test_names_are_drawn_from_every_filter(tree: TopicTree) -> None:
    """Each filter of a group matches one of the names that are published."""
    names = names_for("group", tree)
    for one in tree.all_filters:
        assert any(matches(one, name) for name in names)
