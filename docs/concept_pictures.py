"""Draw the pictures of the concepts page: six brokers, and what each word means on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from matplotlib.patches import Ellipse

import meshwright as mw
from meshwright.formatting import excess
from meshwright.report.sheet import COLOURS, sheet

Links = Iterable[tuple[Any, Any]]

WANTED = {
    "berlin": {"rain", "wind"},
    "oslo": {"wind"},
    "paris": {"rain", "wind"},
    "rome": {"rain", "sun"},
    "madrid": {"sun"},
    "wien": {"rain", "sun"},
}
PLACES = {
    "oslo": (0.0, 2.0),
    "berlin": (1.0, 2.0),
    "paris": (0.0, 1.0),
    "wien": (2.0, 1.4),
    "rome": (1.6, 0.4),
    "madrid": (0.4, 0.0),
}
SIDES = {
    "oslo": (0, 9, "center", "bottom"),
    "berlin": (0, 9, "center", "bottom"),
    "paris": (-10, 0, "right", "center"),
    "wien": (10, 0, "left", "center"),
    "rome": (10, 0, "left", "center"),
    "madrid": (0, -9, "center", "top"),
}
"""Where a broker's name stands: away from the links."""
OWN, OTHER, LINK = COLOURS[2], COLOURS[0], "#B0B8C1"


def _brokers(axes: Any, own: Iterable[str], hollow: Iterable[str] = ()) -> None:
    """Draw the brokers with their topics; some in the colour of the topic, relays hollow."""
    own, hollow = set(own), set(hollow)
    for name, (x, y) in PLACES.items():
        colour = OWN if name in own | hollow else OTHER
        axes.scatter(
            [x],
            [y],
            s=130,
            c="white" if name in hollow else colour,
            edgecolors=colour if name in hollow else "white",
            linewidths=2,
            zorder=3,
        )
        label = f"{name}\n{', '.join(sorted(WANTED[name]))}"
        right, up, *align = SIDES[name]
        axes.annotate(
            label, (x, y), (right, up), textcoords="offset points", ha=align[0], va=align[1], fontsize=8
        )
    axes.set_xlim(-0.9, 2.8)
    axes.set_ylim(-0.5, 2.45)
    axes.set_aspect("equal")
    axes.axis("off")


def _lines(axes: Any, links: Links, colour: str = LINK, width: float = 1.4) -> None:
    for u, v in links:
        axes.plot(*zip(PLACES[u], PLACES[v], strict=True), color=colour, linewidth=width, zorder=1)


def _title(axes: Any, text: str) -> None:
    axes.set_title(text, fontsize=9, fontweight="normal", loc="center")


def _inside(links: Links, topic: str) -> list[tuple[Any, Any]]:
    """Return the links whose two ends want a topic."""
    return [(u, v) for u, v in links if topic in WANTED[u] and topic in WANTED[v]]


def _wanting(topic: str) -> list[str]:
    return [name for name, topics in WANTED.items() if topic in topics]


def overlay() -> Any:
    """Draw the links of a plan."""
    plan = mw.design(WANTED, "low")
    with sheet(None, size=(3.6, 3.2)) as (figure, axes):
        _lines(axes, plan.overlay.edges, OTHER)
        _brokers(axes, ())
        _title(axes, f"an overlay of {len(plan.overlay)} links")
    return figure


def topic_connected() -> Any:
    """Draw an overlay in which the brokers of a topic are connected, and one in which they are not."""
    good = mw.design(WANTED, "low").overlay.edges
    lost = _inside(good, "rain")[-1]
    bad = [link for link in good if link != lost]
    with sheet(None, columns=2, size=(7.2, 3.2)) as (figure, both):
        for axes, links, verdict in zip(
            both, (good, bad), ("connected through each other", "split: a link is missing"), strict=True
        ):
            _lines(axes, links)
            _lines(axes, _inside(links, "rain"), OWN, 2.4)
            _brokers(axes, _wanting("rain"))
            _title(axes, f"rain: {verdict}")
    return figure


def relay() -> Any:
    """Draw the way of a topic through a broker that does not want it."""
    way = [("berlin", "paris"), ("paris", "madrid"), ("madrid", "rome"), ("rome", "wien")]
    with sheet(None, size=(3.6, 3.2)) as (figure, axes):
        _lines(axes, [("oslo", "berlin")])
        _lines(axes, way, OWN, 2.4)
        _brokers(axes, _wanting("rain"), ["madrid"])
        _title(axes, "madrid relays rain without wanting it")
    return figure


def tree() -> Any:
    """Draw the tree of a topic inside an overlay with loops."""
    plan = mw.design(WANTED, "ring")
    rows = mw.route(plan).to_arrow().to_pylist()
    ways = [(row["parent"], row["child"]) for row in rows if row["topic"] == "rain" and row["parent"]]
    root = next(row["child"] for row in rows if row["topic"] == "rain" and row["parent"] is None)
    with sheet(None, size=(3.6, 3.2)) as (figure, axes):
        _lines(axes, plan.overlay.edges)
        _lines(axes, ways, OWN, 2.4)
        _brokers(axes, _wanting("rain"))
        _title(axes, f"the tree of rain, with the root {root}")
    return figure


def group() -> Any:
    """Draw filters that overlap, and one that does not."""
    shapes = (
        ((1.1, 1.0), 2.0, 1.5, OWN, "sensors/#", (1.1, 1.58)),
        ((1.35, 0.82), 1.3, 0.85, OWN, "sensors/+/temp", (1.35, 1.06)),
        ((1.35, 0.72), 1.0, 0.3, OWN, "sensors/a/temp", (1.35, 0.72)),
        ((3.0, 1.0), 1.3, 0.6, OTHER, "alarms/fire", (3.0, 1.0)),
    )
    with sheet(None, size=(4.8, 2.4)) as (figure, axes):
        for centre, width, height, colour, name, at in shapes:
            axes.add_patch(Ellipse(centre, width, height, facecolor=colour, alpha=0.16, edgecolor="none"))
            axes.add_patch(Ellipse(centre, width, height, facecolor="none", edgecolor=colour, linewidth=1.5))
            axes.annotate(name, at, ha="center", va="center", fontsize=8)
        axes.set_xlim(0, 3.8)
        axes.set_ylim(0.15, 1.85)
        axes.set_aspect("equal")
        axes.axis("off")
        _title(axes, "two groups: filters that can match the same topic")
    return figure


def certificate() -> Any:
    """Draw the links of a plan beside the number that a certificate proves to be needed."""
    plan = mw.certify(mw.design(mw.workloads.zipf(300, 60, size=8, seed=1), "gm"))
    needed, links = int(plan.figures["lower_bound"]), len(plan.overlay)
    with sheet(None, size=(5.4, 1.9)) as (figure, axes):
        axes.barh([0], [needed], color=OTHER, height=0.5)
        axes.barh([0], [links - needed], left=[needed], color=OWN, alpha=0.75, height=0.5)
        axes.annotate(
            f"{needed} are needed: proven", (needed / 2, 0), ha="center", va="center", color="white"
        )
        axes.annotate(
            "gap",
            (needed + (links - needed) / 2, 0.26),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
        )
        axes.set_xlim(0, links * 1.02)
        axes.set_ylim(-0.3, 0.6)
        axes.axis("off")
        _title(
            axes, f"a plan of {links} links: at most {excess(links / needed - 1)} above the fewest possible"
        )
    return figure


CONCEPTS: dict[str, Callable[[], Any]] = {
    "overlay": overlay,
    "topic-connected": topic_connected,
    "relay": relay,
    "tree": tree,
    "group": group,
    "certificate": certificate,
}
"""The pictures of the concepts page, by the names of their files."""
