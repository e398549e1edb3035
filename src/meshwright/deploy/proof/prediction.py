"""Where a message must arrive, and which brokers relay it: predicted from the tree of its topic."""

from __future__ import annotations

from collections import deque
from itertools import combinations
from typing import NamedTuple

from meshwright.deploy.named_trees import NamedTrees, TopicTree, neighbours
from meshwright.filters.mqtt import example, examples, has_wildcard, matches, meet

MOST_SHARED = 40
"""Topics of a group that are drawn from what two filters share."""
MOST_TOPICS = 200
"""Topics of a group that are drawn from single filters."""


class Prediction(NamedTuple):
    """What becomes of a message, by the tree of its topic."""

    due: frozenset[str]
    """Brokers that want it, and the one where it was published."""
    relays: frozenset[str]
    """Other brokers on its way."""


def predict(tree: TopicTree, origin: str, name: str) -> Prediction:
    """Predict where a message arrives that is published at a broker under a name."""
    wants = wanted_at(tree, name)
    previous = paths_from(tree, origin)
    on_the_way: set[str] = set()
    for broker in wants:
        here = broker
        while here not in on_the_way and here in previous:
            on_the_way.add(here)
            here = previous[here]
    due = wants | {origin}
    return Prediction(due, frozenset(on_the_way) - due)


def wanted_at(tree: TopicTree, name: str) -> frozenset[str]:
    """Return the brokers that want messages of this name."""
    if not tree.filters:
        return tree.subscribers
    return frozenset(
        broker for broker, held in tree.filters.items() if any(matches(one, name) for one in held)
    )


def paths_from(tree: TopicTree, origin: str) -> dict[str, str]:
    """Return the broker before each carrier on the way from where a message is published."""
    near = neighbours(tree.links)
    previous, queue = {origin: origin}, deque([origin])
    if origin in tree.publishers:
        previous[tree.publishers[origin]] = origin
        queue.append(tree.publishers[origin])
    while queue:
        here = queue.popleft()
        for there in near.get(here, []):
            if there not in previous:
                previous[there] = here
                queue.append(there)
    return previous


def names_for(topic: str, tree: TopicTree) -> list[str]:
    """Return the names under which to publish in a tree, so that each filter and overlap is used.

    For a group these are topics drawn from filters, then from what two filters share: as many as stated
    above, evenly spaced over the filters.
    """
    if not tree.filters:
        return [example(topic)]
    drawn = [name for one in tree.all_filters for name in examples(one)]
    wild = [one for one in tree.all_filters if has_wildcard(one)]
    shared = [example(both) for one, other in combinations(wild, 2) if (both := meet(one, other)) is not None]
    return list(dict.fromkeys([*_spread(drawn, MOST_TOPICS), *_spread(shared, MOST_SHARED)]))


def _spread(names: list[str], most: int) -> list[str]:
    """Return at most this many names, evenly spaced."""
    distinct = list(dict.fromkeys(names))
    step = max(1, -(-len(distinct) // most))
    return distinct[::step]


def publications(trees: NamedTrees) -> list[tuple[str, str, str]]:
    """Return the messages to publish: broker, topic of the tree, and name.

    Each broker publishes on each of its topics; in the tree of a group, each carrier does on each name. They
    are ordered by topic, so that consecutive messages come from different brokers.
    """
    return [
        (broker, topic, name)
        for topic, tree in trees.trees.items()
        for name in names_for(topic, tree)
        for broker in sorted((tree.carriers if tree.filters else tree.subscribers) | set(tree.publishers))
    ]
