"""What charts show: the points, bars and levels are those of the data, and axes fit them."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import meshwright as mw
from calls import overlay_of
from meshwright.content import ContentPlan, Workload, assign, synthetic
from meshwright.content.cost import cost, link_traffic
from meshwright.designs.plan import Plan
from meshwright.report import replays
from meshwright.report.charts import MOST_NAMES, ccdf_chart, federation_picture, trade_off
from meshwright.report.content import (
    _points_from_distances,
    _positions,
    content_chart,
    content_map,
    migration_chart,
    title_of,
)
from meshwright.report.plan_sections import (
    MOST_BARS,
    MOST_RANGE_LABELS,
    degree_chart,
    graph_picture,
    pareto_point,
    support_chart,
)
from meshwright.report.sheet import COLOURS


def points(line: Any) -> list[tuple[Any, Any]]:
    """Return the points of a line."""
    return list(
        zip(np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist(), strict=True)
    )


def star(links: int) -> mw.Interest:
    """Return a hub that shares a topic with each of some nodes."""
    held = {f"n{number}": {f"t{number}"} for number in range(links)}
    return mw.Interest.from_dict(held | {"hub": {f"t{number}" for number in range(links)}})


@pytest.mark.parametrize("links", [1, 5, MOST_BARS])
def test_each_degree_has_a_bar(links: int) -> None:
    """The height of a bar is the number of brokers with that degree."""
    [axes] = degree_chart(mw.design(star(links), "gm").overlay).axes
    heights = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in axes.patches}
    expected = dict.fromkeys(range(links + 1), 0) | {1: links, links: 1}
    assert heights == (expected if links > 1 else {0: 0, 1: 2})
    assert axes.get_ylabel() == "brokers"


def test_many_degrees_share_bars() -> None:
    """Ranges double: 1, 2–3, 4–7 …; a few of them have labels."""
    [axes] = degree_chart(mw.design(star(MOST_BARS + 1), "gm").overlay).axes
    heights = [bar.get_height() for bar in axes.patches]
    assert heights == [MOST_BARS + 1, 0, 0, 0, 0, 1]  # 1, 2–3, 4–7, 8–15, 16–31, 32–63
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["1", "4–7", "16–31"]
    assert len(labels) <= MOST_RANGE_LABELS


def test_the_support_of_the_first_links() -> None:
    """The curve is the support, and its mark is where 80 % of it are reached."""
    overlay = mw.design(mw.workloads.zipf(20, 8, size=4, seed=1), "gm").overlay
    curve = mw.measure.support_curve(overlay)
    [axes] = support_chart(overlay).axes
    line, mark = axes.lines
    assert points(line) == [(at, pytest.approx(curve[at])) for at in range(len(curve))]
    point = pareto_point(curve)
    assert point is not None
    assert points(mark) == [(point.links, curve[point.links])]
    assert curve[point.links] >= 0.8 > curve[point.links - 1]
    assert point.share_of_links == point.links / len(overlay)
    assert point.by_fifth == curve[round(len(overlay) / 5)]
    assert (axes.get_xlim(), axes.get_ylim()) == ((0, len(overlay)), (0, 1.04))
    assert "80 % of it with" in axes.texts[0].get_text()
    [empty] = support_chart(overlay.prefix(0)).axes
    assert (len(empty.lines), empty.get_xlim()) == (1, (0, 1))


def test_brokers_and_links_have_their_places() -> None:
    """A picture has a dot for each broker and a line for each link; many of them are smaller."""
    places = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0]])
    [axes] = graph_picture(places, np.array([0, 1]), np.array([2, 2])).axes
    lines, dots = axes.collections
    assert [segment.tolist() for segment in lines.get_segments()] == [[[0, 0], [3, 1]], [[1, 2], [3, 1]]]
    assert dots.get_offsets().tolist() == places.tolist()
    assert (lines.get_linewidths()[0], dots.get_sizes()[0]) == (1.2, 60)
    many = np.random.default_rng(1).random((3000, 2))
    [axes] = graph_picture(many, np.arange(600), np.arange(600) + 1).axes
    lines, dots = axes.collections
    assert (lines.get_linewidths()[0], dots.get_sizes()[0]) == (0.5, 3)


def test_distributions_without_zeros() -> None:
    """Values above zero are drawn, on logarithmic axes if they are wide."""
    few = np.array([0, 1, 2]), np.array([1.0, 0.5, 0.1])
    wide = np.array([0, 1, 10]), np.array([1.0, 0.5, 0.1])
    left, right = ccdf_chart({"few": {"a": few}, "wide": {"a": wide, "b": few}}, ["x", "y"]).axes
    assert points(left.lines[0]) == [(1, 0.5), (2, 0.1)]
    assert [points(line) for line in right.lines] == [[(1, 0.5), (10, 0.1)], [(1, 0.5), (2, 0.1)]]
    assert (left.get_xscale(), right.get_xscale(), right.get_yscale()) == ("linear", "log", "log")
    assert (left.get_title("left"), right.get_xlabel()) == ("few", "y")


def test_brokers_on_a_circle() -> None:
    """Brokers are clockwise from the top; wider bridges have more topics; faulty ones are marked."""
    [axes] = federation_picture("abcd", {("a", "b"): 4, ("c", "a"): 2}, faulty={"c"}, title="all").axes
    first, second = axes.lines
    assert points(first) == [pytest.approx((0, 1)), pytest.approx((1, 0))]
    assert points(second) == [pytest.approx((0, -1)), pytest.approx((0, 1))]
    assert (first.get_linewidth(), second.get_linewidth()) == (3.6, 2.1)
    assert [text.get_text() for text in axes.texts] == list("abcd")
    assert [text.get_ha() for text in axes.texts[1::2]] == ["left", "right"]
    colours = [tuple(dot.get_facecolor()[0]) for dot in axes.collections]
    assert colours[0] == colours[1] == colours[3] != colours[2]
    crowd = [f"b{number}" for number in range(MOST_NAMES + 1)]
    assert len(federation_picture(crowd[:-1], {}).axes[0].texts) == MOST_NAMES
    assert len(federation_picture(crowd, {}).axes[0].texts) == 0


def plan(links: list[tuple[int, int]], **figures: Any) -> Plan:
    """Return a plan of four nodes that share a topic."""
    line = mw.Interest.from_dict({name: {"x"} for name in "abcd"})
    made = Plan(overlay_of(line, links), "gm", {}, 0, 0.0)
    made.figures.update(figures)
    return made


def test_trade_offs() -> None:
    """The front is a staircase, other plans are marks, and the highest proof is a level."""
    chain, hub = plan([(0, 1), (1, 2), (2, 3)]), plan([(0, 1), (0, 2), (0, 3)], lower_bound=3)
    all_pairs = plan([(0, 1), (0, 2), (0, 3), (1, 2)], lower_bound=2)
    [axes] = trade_off(None, front=[chain, hub], others=[all_pairs, hub], chosen=hub, title="some").axes
    stairs, mark, ring, taken, level = axes.lines
    assert points(stairs) == [(2, 3), (3, 3)]
    assert [points(line) for line in (mark, ring, taken)] == [[(3, 4)], [(3, 3)], [(3, 3)]]
    assert taken.get_label().endswith(": take this")
    assert "take" not in mark.get_label()
    assert level.get_ydata() == [3, 3]
    assert "needs 3 links" in level.get_label()
    assert axes.get_xscale() == "linear"
    [axes] = trade_off(None, front=[plan([(0, 1)]), plan([], max_degree=10)]).axes
    assert axes.get_xscale() == "log"


def test_rounds_of_churn() -> None:
    """Degrees are drawn round by round, links and times as means of equal ranges."""
    count = 3 * replays.BINS
    number = np.arange(count)
    rounds = pa.table(
        {
            "round": number,
            "max_degree": number % 5,
            "average_degree": number / 2,
            "edges_added": number,
            "edges_removed": np.ones(count),
            "seconds": number / 1000,
        }
    )
    figures = {"rebuild_max_degree": 7, "rebuild_average_degree": 3.5}
    replay: Any = SimpleNamespace(rounds=rounds, figures=figures)
    axes = replays.churn_chart({"one": replay, "two": replay}, title="some").axes
    highest, average, links, times = axes
    assert points(highest.lines[0]) == [(at, at % 5) for at in range(count)]
    assert points(average.lines[1]) == [(at, at / 2) for at in range(count)]
    middles = [3 * place + 1 for place in range(replays.BINS)]
    assert points(links.lines[0]) == [(at, pytest.approx(at + 1)) for at in middles]
    assert points(times.lines[0]) == [(at, pytest.approx(at)) for at in middles]
    assert [pane.lines[2].get_ydata()[0] for pane in (highest, average)] == [7, 3.5]
    assert (len(links.lines), len(times.lines)) == (2, 2)
    assert [pane.get_ylim()[0] for pane in axes] == [0] * 4
    assert highest.lines[0].get_color() == COLOURS[0] != highest.lines[1].get_color()
    assert [pane.get_title("left") for pane in axes][::3] == ["Highest degree", "Time per round"]
    assert [pane.get_xlabel() for pane in axes] == ["", "", "round", "round"]
    assert replays._binned(np.zeros(0))[0].tolist() == []


@pytest.fixture(scope="module")
def assigned() -> ContentPlan:
    """Assign users in a plane to brokers."""
    return assign(synthetic(30, 4, 6, model="plane", length=0.4, seed=2), "packing")


def test_costs_are_stacked(assigned: ContentPlan) -> None:
    """Each plan has a bar of its access cost and, after it, one of its core cost; the first is on top."""
    other = assign(assigned.workload, "random")
    [axes] = content_chart([assigned, other], title="some").axes
    widths = [bar.get_width() for bar in axes.patches]
    expected = [other.cost.access, assigned.cost.access, other.cost.core, assigned.cost.core]
    assert widths == pytest.approx(expected)
    assert [bar.get_x() for bar in axes.patches] == pytest.approx(
        [0, 0, other.cost.access, assigned.cost.access]
    )
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [title_of(other), title_of(assigned)]


def test_a_map_of_users_and_brokers(assigned: ContentPlan) -> None:
    """Users and brokers are at their places, with a line from each user to its broker; loads fall."""
    plane, bars = content_map(assigned).axes
    places = assigned.workload.places
    assert places is not None
    lines, users, brokers = plane.collections
    assert users.get_offsets().tolist() == places.users.tolist()
    assert brokers.get_offsets().tolist() == places.brokers.tolist()
    ends = [segment.tolist() for segment in lines.get_segments()]
    home = places.brokers[assigned.cost.broker_of]
    assert ends == [[one, two] for one, two in zip(places.users.tolist(), home.tolist(), strict=True)]
    share = assigned.cost.load / assigned.workload.capacity
    assert brokers.get_sizes().tolist() == pytest.approx((30 + 120 * share).tolist())
    assert [bar.get_height() for bar in bars.patches] == pytest.approx(sorted(share, reverse=True))
    assert bars.lines[0].get_ydata() == [1.0, 1.0]
    traffic = link_traffic(assigned.cost)
    u, v = np.nonzero(traffic)
    widths = sorted((0.3 + 3.5 * traffic[u, v] / traffic.max()).tolist(), reverse=True)
    assert [line.get_linewidth() for line in plane.lines] == pytest.approx(widths)


def test_brokers_without_places_are_as_far_apart_as_they_cost() -> None:
    """Distances in the plane are the costs, if these can be drawn; users are around their broker."""
    corners = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0], [0.0, 3.0]])
    core = np.sqrt(((corners[:, None] - corners[None]) ** 2).sum(axis=2))
    found = _points_from_distances(core)
    apart = np.sqrt(((found[:, None] - found[None]) ** 2).sum(axis=2))
    assert apart == pytest.approx(core, abs=1e-9)
    assert (found[np.abs(found).argmax(axis=0), [0, 1]] > 0).all()
    assert _points_from_distances(np.array([[0.0, 2.0], [2.0, 0.0]])).tolist() == [[0, 0], [2, 0]]
    access = np.array([[1.0, 9.0, 9.0, 9.0], [9.0, 4.0, 9.0, 9.0]])
    workload = Workload.build(
        ["a", "b"],
        list("wxyz"),
        ["c"],
        rates=([0], [0], [1.0]),
        subscriptions=([1], [0]),
        access=access,
        core=core,
        capacity=np.inf,
    )
    users, brokers = _positions(assign(workload, "packing"))
    assert brokers.tolist() == found.tolist()
    far = np.sqrt(((users - brokers[[0, 1]]) ** 2).sum(axis=1))
    size = np.ptp(brokers, axis=0).max()
    assert far == pytest.approx([0.08 * size / 4, 0.08 * size])


def test_a_migration_step_by_step(assigned: ContentPlan) -> None:
    """The cost steps from move to move, admissions are dots, crashes are lines, and messages add up."""
    start = np.zeros(assigned.workload.num_users, dtype=np.int32)
    before = cost(assigned.workload, start).total
    step = partial(SimpleNamespace, paid=True)
    steps = [step(time=1.0, cost=9.0), step(time=2.0, cost=11.0, paid=False), step(time=3.0, cost=8.0)]
    samples = [SimpleNamespace(time=at, messages=5 * at, delivered=2 * at) for at in (0.0, 2.0, 4.0)]
    run: Any = SimpleNamespace(
        workload=assigned.workload, start=start, steps=steps, samples=samples, crashed=[(1.5, 0), (2.5, 1)]
    )
    left, right = migration_chart(run, title="some").axes
    curve, dots, *crashes = left.lines
    assert points(curve) == [(0, before), (1, 9), (2, 11), (3, 8), (4, 8)]
    assert points(dots) == [(2, 11)]
    assert [line.get_xdata()[0] for line in crashes] == [1.5, 2.5]
    assert crashes[0].get_label() == "a broker dies"
    assert crashes[1].get_label().startswith("_")
    sent, delivered, *crashes = right.lines
    assert points(sent) == [(0, 0), (2, 10), (4, 20)]
    assert points(delivered) == [(0, 0), (2, 4), (4, 8)]
    assert len(crashes) == 2
    assert (left.get_xlim()[0], right.get_xlim()[0]) == (0, 0)
    assert (left.get_xlabel(), right.get_xlabel(), left.get_ylabel()) == ("seconds", "seconds", "cost")
    run.steps, run.samples, run.crashed = [], [], []
    left, _ = migration_chart(run).axes
    assert [points(line) for line in left.lines] == [[(0, before), (0, before)]]
