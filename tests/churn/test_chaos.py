"""Chaos: the damage is exact, resilient plans take no damage, and each policy repairs it."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import crowds, examples, seeds
from meshwright.churn import LiveOverlay, chaos
from meshwright.churn.kernels.damage import count_damage
from meshwright.designs.design import design
from meshwright.greedy import grow, rules
from meshwright.interest import Interest
from meshwright.overlay import Overlay
from meshwright.workloads import unif


def broken(overlay: Overlay, gone: set[int]) -> tuple[int, int]:
    """Return the topics split and the subscribers cut off when nodes fail, by walking every topic."""
    links: dict[int, set[int]] = {v: set() for v in range(overlay.interest.num_nodes)}
    for u, v in zip(overlay.u.tolist(), overlay.v.tolist(), strict=True):
        links[u].add(v)
        links[v].add(u)
    split = cut_off = 0
    interest = overlay.interest
    for topic in range(interest.num_topics):
        members = interest.topic_nodes[interest.topic_ptr[topic] : interest.topic_ptr[topic + 1]].tolist()
        left = set(members) - gone
        sizes = []
        while left:
            reached, found = {left.pop()}, 0
            while reached:
                v = reached.pop()
                found += 1
                reached |= links[v] & left
                left -= reached
            sizes.append(found)
        if len(sizes) > 1:
            split += 1
            cut_off += sum(sizes) - max(sizes)
    return split, cut_off


@settings(max_examples=examples(50, 10), deadline=None)
@given(crowds(nodes=(2, 25), topics=(1, 70), subscriptions=120), seeds, st.integers(1, 5))
def test_damage_is_exact(interest: Interest, seed: int, count: int) -> None:
    """Topics split and subscribers cut off are those found by walking every topic; no array changes."""
    overlay = grow(interest, rules.gm)
    state = LiveOverlay(overlay, "naive")._state
    before = [array.tobytes() for array in state.arrays]
    gone = np.random.default_rng(seed).permutation(interest.num_nodes)[:count].astype(np.int32)
    assert tuple(map(int, count_damage(state.arrays, state.groups, gone))) == broken(
        overlay, set(gone.tolist())
    )
    assert [array.tobytes() for array in state.arrays] == before


def test_resilient_plans_survive_single_failures() -> None:
    """In a plan by `resilient`, no single failure splits a topic; in one by GM, some do."""
    interest = unif(60, 12, size=4, seed=1)
    safe = chaos(design(interest, "resilient").overlay, most=1, samples=5)[0]
    assert (safe.kind, safe.tried, safe.splitting, safe.most_cut_off, safe.worst) == (
        "each node",
        60,
        0,
        0,
        (),
    )
    risky = chaos(grow(interest, rules.gm), most=1, samples=5)[0]
    assert risky.splitting > 0
    assert len(risky.worst) == 1


def test_every_scenario_is_tried() -> None:
    """Each size has random sets, the nodes of highest degree and the worst cut nodes, with repairs."""
    overlay = grow(unif(60, 12, size=4, seed=1), rules.gm)
    calls: list[tuple[int, float, str]] = []
    found = chaos(
        overlay,
        most=3,
        samples=7,
        policies=["naive", "shadow"],
        progress=lambda *call: calls.append(call),
    )
    kinds = ["random nodes", "highest degree", "worst cut nodes"]
    assert [(each.kind, each.nodes) for each in found] == [
        ("each node", 1), *((kind, 2) for kind in kinds), *((kind, 3) for kind in kinds)
    ]  # fmt: skip
    assert [each.tried for each in found] == [60, 7, 1, 1, 7, 1, 1]
    assert all(list(each.repairs) == ["naive", "shadow"] for each in found)
    degree = np.bincount(np.concatenate((overlay.u, overlay.v)))
    most = np.sort(degree)[-1] + np.sort(degree)[-2]
    assert found[2].repairs["naive"].links - found[2].repairs["naive"].added in (most, most - 1)
    assert [call[:2] for call in calls] == [(done, done / 7) for done in range(7)]
    assert [call[2] for call in calls[:2]] == ["each node (1)", "random nodes (2)"]


def test_one_node_or_none() -> None:
    """With at most one node, nothing can be cut off."""
    for nodes in (0, 1):
        found = chaos(Overlay.empty(Interest.from_dict({f"n{i}": {"t"} for i in range(nodes)})))
        assert [(each.tried, each.splitting) for each in found] == [(nodes, 0)]
