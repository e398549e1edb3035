"""Layouts: every broker has a place in the unit square, linked ones are near, equal overlays look equal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from meshwright import Overlay
from meshwright.report import graph_data as layouts
from meshwright.report.graph_data import layout
from strategies import overlays


@settings(max_examples=15, deadline=None)
@given(overlays())
def test_places_are_in_the_unit_square(overlay: Overlay) -> None:
    """Any overlay, connected or not, gets finite places that fill the square in one direction."""
    nodes = overlay.interest.num_nodes
    places = layout(nodes, overlay.u, overlay.v)
    assert places.shape == (nodes, 2)
    assert ((places >= -1e-9) & (places <= 1 + 1e-9)).all()
    if nodes > 1:
        assert np.ptp(places, axis=0).max() == pytest.approx(1)


def test_linked_brokers_are_near() -> None:
    """On a long path and on a grid, a link is far shorter than the distance of two brokers on average."""
    ids = np.arange(100).reshape(10, 10)
    grid = np.concatenate(
        (np.stack((ids[:, :-1].ravel(), ids[:, 1:].ravel())), np.stack((ids[:-1].ravel(), ids[1:].ravel()))),
        axis=1,
    )
    for u, v in ((np.arange(99), np.arange(1, 100)), (grid[0], grid[1])):
        places = layout(100, u, v)
        links = np.linalg.norm(places[u] - places[v], axis=1)
        apart = np.linalg.norm(places[:, None] - places[None], axis=2)
        assert links.mean() < 0.5 * apart.mean()


def test_the_same_overlay_has_the_same_layout() -> None:
    """Nothing depends on chance, with the small and with the large grid."""
    random = np.random.default_rng(1)
    for nodes in (30, layouts.FEW + 10):
        u = random.integers(0, nodes - 1, 2 * nodes)
        v = u + 1
        assert (layout(nodes, u, v) == layout(nodes, u, v)).all()


def test_brokers_without_links_stand_below() -> None:
    """They take rows of their own and do not push the others."""
    places = layout(40, np.array([0, 1]), np.array([1, 2]))
    assert places[3:, 1].max() < places[:3, 1].min()
    assert len(np.unique(places[3:].round(6), axis=0)) == 37
