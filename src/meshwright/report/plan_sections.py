"""The charts and tables of a plan's page: degrees, support with its 80 / 20 point, brokers, topics, trees."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meshwright import measure
from meshwright.formatting import amount, counted, percentage
from meshwright.overlay import Overlay
from meshwright.report.charts import POINTS
from meshwright.report.graph_data import GraphData
from meshwright.report.page import Cell, Row, card, page_table, visible
from meshwright.report.plan_facts import PlanFacts, TopicEffort
from meshwright.report.sheet import COLOURS, percent_axis, sheet, whole_numbers
from meshwright.routes.trees import Trees

SIZE = (4.7, 3.4)
MOST_BARS = 40
"""Up to this highest degree, each degree has its bar; above, bars span ranges that double."""
MOST_RANGE_LABELS = 4
"""Labels of ranges that have room side by side; of more, every second or third is shown."""
MOST = 0.8
"""The share of support of the 80 / 20 point."""


def degree_chart(overlay: Overlay, path: str | Path | None = None) -> Any:
    """Draw how many brokers have how many links, and return the figure.

    >>> import meshwright as mw
    >>> degree_chart(mw.design({"a": {"x"}, "b": {"x"}}, "gm").overlay)
    <Figure size 564x408 with 1 Axes>
    """
    degrees = measure.degrees(overlay)
    counts = degrees.distribution
    with sheet(path, size=SIZE) as (figure, axes):
        axes.set_title("Links per broker")
        axes.set(xlabel="links of a broker", ylabel="brokers")
        axes.grid(visible=False, axis="x")
        if degrees.maximum <= MOST_BARS:
            axes.bar(np.arange(len(counts)), counts, color=COLOURS[0], width=0.85)
            whole_numbers(axes.xaxis)
        else:
            _draw_ranges(axes, degrees.of_node)
        whole_numbers(axes.yaxis)
    return figure


def _draw_ranges(axes: Any, degrees: NDArray[Any]) -> None:
    """Draw a bar for 0, 1, 2–3, 4–7, 8–15 … links."""
    places = np.where(degrees > 0, np.floor(np.log2(np.maximum(degrees, 1))) + 1, 0).astype(np.int64)
    counts = np.bincount(places)
    first = int(np.flatnonzero(counts)[0])
    shown = np.arange(first, len(counts))
    axes.bar(shown, counts[first:], color=COLOURS[0], width=0.85)
    labelled = shown[:: -(-len(shown) // MOST_RANGE_LABELS)]
    axes.set_xticks(labelled, [_range_label(place) for place in labelled.tolist()])
    axes.tick_params(axis="x", labelsize=8)


def _range_label(place: int) -> str:
    """Name a range of degrees.

    >>> [_range_label(place) for place in range(4)]
    ['0', '1', '2–3', '4–7']
    """
    if place < 2:
        return str(place)
    return f"{2 ** (place - 1):,}–{2**place - 1:,}"


class Pareto(NamedTuple):
    """The 80 / 20 point of a support curve."""

    links: int
    """The fewest first links with at least 80 % of the support that all links have."""
    share_of_links: float
    by_fifth: float
    """The share of that support which the first 20 % of the links have."""


def pareto_point(curve: NDArray[np.float64]) -> Pareto | None:
    """Return the 80 / 20 point of a support curve; None without links.

    >>> pareto_point(np.array([0.0, 0.7, 0.9, 1.0, 1.0, 1.0]))
    Pareto(links=2, share_of_links=0.4, by_fifth=0.7)
    """
    links = len(curve) - 1
    if not links or not curve[-1]:
        return None
    reached = int(np.searchsorted(curve, MOST * curve[-1] - 1e-12))
    fifth = round((1 - MOST) * links)
    return Pareto(reached, reached / links, float(curve[fifth] / curve[-1]))


def support_chart(overlay: Overlay, path: str | Path | None = None) -> Any:
    """Draw the support of the first links with its 80 / 20 point, and return the figure.

    >>> import meshwright as mw
    >>> support_chart(mw.design({"a": {"x"}, "b": {"x"}}, "gm").overlay)
    <Figure size 564x408 with 1 Axes>
    """
    with sheet(path, size=SIZE) as (figure, axes):
        curve = measure.support_curve(overlay)
        shown = np.unique(np.linspace(0, len(curve) - 1, POINTS // 4).round().astype(np.int64))
        point = pareto_point(curve)
        axes.set_title("What each further link adds")
        axes.set(xlabel="links, in the order they are added", ylabel="support")
        axes.plot(shown, curve[shown], color=COLOURS[0])
        if point is not None:
            at = (point.links, curve[point.links])
            axes.plot(*at, marker="o", color=COLOURS[2], markersize=7)
            label = f"{100 * MOST:.0f} % of it with\n{percentage(point.share_of_links)} of the links"
            # The curve rises fast and then slowly, so the lower right corner is free.
            axes.text(0.97, 0.06, label, transform=axes.transAxes, ha="right", va="bottom", color=COLOURS[2])
        axes.set_ylim(0, 1.04)
        axes.set_xlim(0, max(len(curve) - 1, 1))
        percent_axis(axes.yaxis)
        whole_numbers(axes.xaxis)
        axes.xaxis.get_major_locator().set_params(nbins=5)
    return figure


LINK_COLOUR = "#8D99A8"
"""Between the text and the page, in light and in dark."""


def graph_picture(
    places: NDArray[np.float64], u: NDArray[Any], v: NDArray[Any], path: str | Path | None = None
) -> Any:
    """Draw brokers at their places, with a line for each link, and return the figure.

    >>> graph_picture(np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0]), np.array([1]))
    <Figure size 960x960 with 1 Axes>
    """
    with sheet(path, size=(8.0, 8.0)) as (figure, axes):
        from matplotlib.collections import LineCollection

        width = float(np.clip(300 / max(len(u), 1), 0.1, 1.2))
        lines = LineCollection(
            list(np.stack((places[u], places[v]), axis=1)), color=LINK_COLOUR, linewidth=width
        )
        axes.add_collection(lines)
        size = float(np.clip(9000 / max(len(places), 1), 1.5, 60))
        axes.scatter(places[:, 0], places[:, 1], s=size, color=COLOURS[0], zorder=2, linewidth=0)
        axes.set_aspect("equal")
        axes.axis("off")
        figure.patch.set_alpha(0.0)
    return figure


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
