"""The tables of a plan's page: busiest brokers, topics hard to connect, groups of filters, and trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshwright.formatting import amount, counted
from meshwright.report.graph_data import GraphData
from meshwright.report.page import Cell, Row, card, page_table, visible
from meshwright.report.plan_facts import PlanFacts, TopicEffort
from meshwright.routes.trees import Trees

SHOWN = 10
"""Rows of a table."""
SHOWN_FILTERS = 3
"""Filters of a group that are named."""


def _largest(values: NDArray[Any]) -> list[int]:
    """Return the positions of the largest values, descending; ties by position."""
    found: list[int] = np.argsort(-values, kind="stable")[:SHOWN].tolist()
    return found


def _broker(facts: PlanFacts, graph: GraphData, node: int) -> Cell:
    return _cell(facts.interest.node_names[node].as_py(), "broker", graph.broker(node))


def _topic(facts: PlanFacts, graph: GraphData, topic: int) -> Cell:
    return _cell(facts.interest.topic_names[topic].as_py(), "topic", graph.topic(topic))


def _cell(name: object, kind: str, place: int | None) -> Cell:
    """Return a name that leads to its place in the graph, if it is shown there."""
    return Cell(visible(name), "" if place is None else f'href="#graph" data-{kind}="{place}"')


def broker_table(facts: PlanFacts, graph: GraphData) -> str:
    """Return the brokers with the most links, with the topics that they want, and what they pass on."""
    from meshwright.routes.trees import loads

    sizes = np.diff(facts.interest.node_ptr)
    forwarded, copies = _topics_passed_on(facts.trees), loads(facts.trees).of_broker
    rows: list[Row] = [
        [
            [_broker(facts, graph, node)],
            f"{facts.degrees[node]:,}",
            f"{sizes[node]:,}",
            f"{forwarded[node]:,}",
            f"{copies[node]:,.0f}",
        ]
        for node in _largest(facts.degrees)
        if facts.degrees[node]
    ]
    if not rows:
        return "<p>No broker has a link.</p>"
    note = (
        '<p class="soft">A broker passes a copy of a message on to each neighbour in the tree but the one '
        "that it came from. The copies are those of one message per topic.</p>"
    )
    return page_table(["broker", "links", "topics", "topics passed on", "copies passed on"], rows) + note


def _topics_passed_on(trees: Trees) -> NDArray[np.int64]:
    """Return by broker how many topics it passes on: in their trees it has at least two neighbours."""
    width = max(trees.overlay.interest.num_nodes, 1)
    below = trees.parents >= 0
    ends = np.concatenate((trees.nodes[below], trees.parents[below]))
    pairs = np.tile(trees.topics[below].astype(np.int64), 2) * width + ends
    pair, neighbours = np.unique(pairs, return_counts=True)
    return np.bincount(pair[neighbours > 1] % width, minlength=trees.overlay.interest.num_nodes)


def split_first(effort: TopicEffort) -> list[int]:
    """Return the topics by how hard they are to connect: split ones first, then by the links they need."""
    order = np.lexsort((-effort.links, -np.maximum(effort.pieces, 1)))
    return [topic for topic in order.tolist() if effort.links[topic] or effort.pieces[topic] > 1]


def topic_table(facts: PlanFacts, effort: TopicEffort, topics: list[int], graph: GraphData) -> str:
    """Return the topics that need the most links, and those that are split."""
    if not topics:
        return "<p>No topic has two brokers: there is nothing to connect.</p>"
    subscribers = np.diff(facts.interest.topic_ptr)
    rows: list[Row] = [
        [
            [_topic(facts, graph, topic)],
            f"{subscribers[topic]:,}",
            f"{effort.links[topic]:,.1f}",
            "connected" if effort.pieces[topic] <= 1 else f"split into {effort.pieces[topic]:,}",
        ]
        for topic in topics
    ]
    note = (
        '<p class="soft">A link that connects several topics counts in equal parts for each of them, so the '
        "links of all topics add up to the plan's.</p>"
    )
    return page_table(["topic", "brokers", "links it needs", "state"], rows) + note


def group_table(facts: PlanFacts, graph: GraphData) -> str:
    """Return the groups with the most filters, if filters were planned in groups."""
    if facts.groups is None or not facts.groups.num_rows:
        return ""
    members: dict[str, list[str]] = {}
    for row in facts.groups.to_pylist():
        members.setdefault(row["group"], []).append(row["filter"])
    sizes = {group: len(own) for group, own in members.items()}
    topics = {name: topic for topic, name in enumerate(map(str, facts.interest.topic_names.to_pylist()))}
    subscribers = np.diff(facts.interest.topic_ptr)
    rows: list[Row] = []
    for group, count in sorted(sizes.items(), key=lambda item: (-item[1], item[0]))[:SHOWN]:
        topic = topics.get(group)
        named = ", ".join(visible(own) for own in sorted(members[group])[:SHOWN_FILTERS])
        rows.append(
            [
                [Cell(visible(group)) if topic is None else _topic(facts, graph, topic)],
                f"{count:,}",
                "–" if topic is None else f"{subscribers[topic]:,}",
                [Cell(f"{named} …" if count > SHOWN_FILTERS else named)],
            ]
        )
    joined = sum(count for count in sizes.values() if count > 1)
    alone = len(sizes) - sum(count > 1 for count in sizes.values())
    note = f"<p>{len(sizes):,} groups; {joined:,} filters share one with others, {alone:,} are alone.</p>"
    return note + page_table(["group", "filters", "brokers", "such as"], rows, stacked=True)


def tree_section(facts: PlanFacts, graph: GraphData) -> str:
    """Return the figures of the trees, the deepest ones and the busiest links."""
    from meshwright.routes.trees import hops, loads

    trees, figures = facts.trees, facts.tree_figures
    if not len(trees):
        apart = "No topic has a tree: the brokers of each cannot reach each other over these links."
        alone = "No topic has two brokers: there are no trees."
        return f"<p>{apart if len(trees.unreachable) else alone}</p>"
    origin = (
        f"The plan has one tree per topic, chosen by {trees.objective}."
        if facts.routed
        else "The plan has no trees yet: these are the ones that meshwright route would choose, by hops."
    )
    rated = facts.messages
    copies = "copies passed on a second" if rated else "copies passed on, of one message per topic"
    relaying = "every broker subscribes to what it passes on"
    if trees.relay.any():
        brokers = counted(len(np.unique(trees.nodes[trees.relay])), "broker")
        relaying = f"at {brokers}, passing on messages without a subscription"
    cards = [
        card("trees", f"{figures['trees']:,}", f"over {figures['links_used']:,} links"),
        card("hops between subscribers", f"{figures['mean_hops']:.2f}", f"{figures['max_hops']:,} at most"),
        card("busiest link", amount(figures["max_link_load"]), "messages a second" if rated else "topics"),
        card("busiest broker", amount(figures["max_broker_load"]), copies),
        card("relays", f"{figures['relays']:,}", relaying),
    ]
    if figures.get("unreachable"):
        cards.append(card("topics without a tree", f"{figures['unreachable']:,}", "their brokers are apart"))
    depth = hops(trees)
    relays = np.bincount(trees.topics[trees.relay], minlength=len(trees.ptr) - 1)
    sizes = np.diff(trees.ptr)
    deepest: list[Row] = [
        [
            [_topic(facts, graph, topic)],
            f"{sizes[topic]:,}",
            f"{depth.mean_of_topic[topic]:.2f}",
            f"{depth.most_of_topic[topic]:,}",
            f"{relays[topic]:,}",
        ]
        for topic in _largest(depth.most_of_topic)
        if sizes[topic]
    ]
    carried = loads(trees).of_link
    busiest: list[Row] = [
        [
            [_broker(facts, graph, int(end[link])) for end in (facts.overlay.u, facts.overlay.v)],
            f"{carried[link]:,.0f}",
        ]
        for link in _largest(carried)
        if carried[link]
    ]
    return (
        f'<p>{origin}</p><div class="cards">{"".join(cards)}</div>'
        '<div class="lists"><div><h3>Deepest trees</h3>'
        + page_table(["topic", "brokers", "mean hops", "most hops", "relays"], deepest)
        + "</div><div><h3>Links with the most topics</h3>"
        + page_table(["link", "topics"], busiest)
        + "</div></div>"
    )
