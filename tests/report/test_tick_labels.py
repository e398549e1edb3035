"""Tick labels of every chart: they do not overlap, none repeats, and degrees are whole numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import meshwright as mw
from meshwright.churn import Policy, random_churn, replay
from meshwright.designs.plan import Plan
from meshwright.report import churn_chart, degree_and_support, degree_chart, support_chart, trade_off
from meshwright.report.charts import ccdf_chart
from meshwright.report.content import content_chart

SIX = {"a": {"x", "y"}, "b": {"x"}, "c": {"y", "z"}, "d": {"z"}, "e": {"x", "z"}, "f": {"y"}}


@cache
def plans(size: str) -> tuple[Plan, ...]:
    """Return plans of six brokers, of a few hundred, or with a hub of tens of thousands of links."""
    if size == "hub":
        interest = mw.workloads.unif(40_000, 3, size=2, seed=1)
        return mw.design(interest, "cd2"), mw.design(interest, "ring")
    interest = mw.Interest.of(SIX) if size == "six" else mw.workloads.zipf(300, 40, size=6, seed=1)
    certified = mw.design(interest, "gm", certify=True)
    return certified, mw.design(interest, "low"), mw.design(interest, "ring")


def shown_labels(axis: Any) -> list[tuple[str, Any]]:
    """Return the text and the box of each label that is drawn."""
    low, high = sorted(axis.get_view_interval())
    renderer = axis.figure.canvas.get_renderer()
    return [
        (tick.label1.get_text(), tick.label1.get_window_extent(renderer))
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        if tick.label1.get_text() and tick.label1.get_visible() and low <= tick.get_loc() <= high
    ]


def check_labels(figure: Any) -> None:
    """Assert that no two labels of an axis overlap or are equal, and that none has an exponent."""
    figure.canvas.draw()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            labels = shown_labels(axis)
            texts = [text for text, _ in labels]
            assert len(set(texts)) == len(texts), texts
            assert not any(re.search(r"10\^|mathdefault|e[-+]\d", text) for text in texts), texts
            boxes = [box for _, box in labels]
            for place, box in enumerate(boxes):
                assert not any(box.overlaps(other) for other in boxes[place + 1 :]), texts


CHARTS: dict[str, Callable[[tuple[Plan, ...]], Any]] = {
    "designs": degree_and_support,
    "trade-off": lambda made: trade_off(others=made, chosen=made[0]),
    "front": lambda made: trade_off(front=sorted(made, key=lambda plan: plan.figures["max_degree"])),
    "degrees": lambda made: degree_chart(made[0].overlay),
    "support": lambda made: support_chart(made[0].overlay),
}


@pytest.mark.parametrize("size", ["six", "some", "hub"])
@pytest.mark.parametrize("name", CHARTS)
def test_labels_do_not_overlap(name: str, size: str) -> None:
    """On six brokers, on hundreds, and where one broker has tens of thousands of links."""
    check_labels(CHARTS[name](plans(size)))


@pytest.mark.parametrize("most", [1, 6, 90, 2_000_000])
def test_distributions(most: int) -> None:
    """A profile of anything from one to two million."""
    values = np.unique(np.geomspace(1, most, 50).round())
    panels = {title: {"one": (values, 1 / values)} for title in ("Interests", "Topics")}
    check_labels(ccdf_chart(panels, ["topics per broker", "brokers per topic"]))


@pytest.mark.parametrize("rounds", [1, 60])
def test_churn(rounds: int) -> None:
    """One round, and many."""
    interest = mw.workloads.zipf(40, 10, size=3, seed=2)
    live = mw.LiveOverlay(mw.design(interest, "low").overlay, Policy(), seed=1)
    check_labels(churn_chart({"shadow": replay(live, random_churn(interest, rounds, seed=1))}))


def test_content() -> None:
    """Costs of assignments, which may be large numbers."""
    workload = mw.content.synthetic(60, 10, seed=1)
    made = [mw.content.assign(workload, name) for name in ("random", "packing")]
    check_labels(content_chart(made))


@pytest.mark.slow
def test_two_million_rows() -> None:
    """Two million subscriptions, designed and drawn."""
    interest = mw.workloads.zipf(100_000, 1000, size=20, seed=1)
    made = tuple(mw.design(interest, name) for name in ("gm", "ring"))
    for draw in CHARTS.values():
        check_labels(draw(made))
