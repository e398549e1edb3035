"""The cost of an assignment agrees with its slow twin, and its parts add up to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import content_naive as naive
from content_naive import workloads
from meshwright.arrays import frozen
from meshwright.content import Workload, cost
from meshwright.content.cost import broker_tree, core_trees, link_traffic, tree_traffic


@st.composite
def assigned(draw: st.DrawFn) -> tuple[Workload, list[int]]:
    """Draw a workload and any assignment of its users."""
    workload = draw(workloads())
    anywhere = st.integers(0, workload.num_brokers - 1)
    return workload, draw(st.lists(anywhere, min_size=workload.num_users, max_size=workload.num_users))


@given(assigned())
def test_the_cost_agrees_with_its_twin(given: tuple[Workload, list[int]]) -> None:
    """Access and core costs are what the definitions say, message by message."""
    workload, broker_of = given
    known = cost(workload, broker_of)
    assert (known.access, known.core) == pytest.approx(naive.costs(workload, broker_of))
    assert workload.load == pytest.approx([naive.load(workload, it) for it in range(workload.num_users)])


@given(assigned())
def test_the_parts_add_up(given: tuple[Workload, list[int]]) -> None:
    """Costs by user, broker, channel and link add up to the cost, and brokers' loads to the users' loads."""
    workload, broker_of = given
    known = cost(workload, broker_of)
    assert known.of_user.sum() == pytest.approx(known.access)
    assert known.of_channel.sum() == pytest.approx(known.core)
    assert known.of_broker.sum() == pytest.approx(known.total)
    assert known.of_link.sum() == pytest.approx(known.core)
    assert known.load.sum() == pytest.approx(workload.load.sum())


@given(assigned())
def test_a_message_crosses_a_link_once(given: tuple[Workload, list[int]]) -> None:
    """Each tree joins its source and the brokers with subscribers, and no others, without a cycle."""
    workload, broker_of = given
    known = cost(workload, broker_of)
    trees = core_trees(known)
    weighed = np.zeros_like(known.weight)
    for channel in range(workload.num_channels):
        held = set(np.flatnonzero(known.audience[channel]).tolist())
        for source in range(workload.num_brokers):
            if known.rate[channel, source] <= 0:
                continue
            kept = (trees.tree_set == trees.set_of_channel[channel]) & (
                trees.source == (-1 if source in held else source)
            )
            links = list(zip(trees.u[kept].tolist(), trees.v[kept].tolist(), strict=True))
            joined = {source, *held}
            assert len(links) == len(set(links)) == len(joined) - 1
            assert not links or {end for link in links for end in link} == joined
            weighed[channel, source] = sum(workload.core[link] for link in links)
    carried = known.rate > 0
    assert weighed[carried] == pytest.approx(known.weight[carried])


def test_no_broker_between_shortens_a_tree() -> None:
    """Three brokers at mutual distance 2 around a hub at distance 1 cost 4, not 3 as a tree over the hub."""
    core = np.full((4, 4), 2.0)
    core[3], core[:, 3] = 1.0, 1.0
    np.fill_diagonal(core, 0.0)
    workload = Workload.build(
        ["a", "b", "c"],
        ["x", "y", "z", "hub"],
        ["only"],
        rates=([0], [0], [1.0]),
        subscriptions=([0, 1, 2], [0, 0, 0]),
        access=np.zeros((3, 4)),
        core=core,
        capacity=np.inf,
    )
    place = workload.broker_names.to_pylist().index
    assert cost(workload, [place("x"), place("y"), place("z")]).core == 4.0


@given(assigned(), st.floats(0.1, 10))
def test_scaled_costs_scale_the_cost(given: tuple[Workload, list[int]], factor: float) -> None:
    """If all links cost some factor more, the whole cost grows by that factor."""
    workload, broker_of = given
    scaled = replace(
        workload,
        access=frozen(workload.access * factor, np.float64),
        core=frozen(workload.core * factor, np.float64),
    )
    assert cost(scaled, broker_of).total == pytest.approx(cost(workload, broker_of).total * factor)


@given(assigned())
def test_the_broker_tree_agrees_with_its_twin(given: tuple[Workload, list[int]]) -> None:
    """One tree of all brokers costs what its links carry, message by message, and no star is cheaper."""
    workload, broker_of = given
    tree = broker_tree(cost(workload, broker_of))
    links = list(zip(tree.u.tolist(), tree.v.tolist(), strict=True))
    assert len(links) == workload.num_brokers - 1
    assert tree.core == pytest.approx(naive.tree_core_cost(workload, broker_of, links))
    chain = np.arange(workload.num_brokers)
    along = tree_traffic(cost(workload, broker_of), chain, np.maximum(chain - 1, 0))
    steps = workload.core[chain[:-1], chain[1:]]
    chain_links = list(zip(chain[:-1].tolist(), chain[1:].tolist(), strict=True))
    assert float((along * steps).sum()) == pytest.approx(
        naive.tree_core_cost(workload, broker_of, chain_links)
    )
    brokers = range(workload.num_brokers)
    stars = [{(min(b, hub), max(b, hub)) for b in brokers if b != hub} for hub in brokers]
    least = min(naive.tree_core_cost(workload, broker_of, sorted(star)) for star in stars)
    assert tree.core <= least * (1 + 1e-9) + 1e-12
    weight = sum(workload.core[link] for link in links)
    assert set(links) in stars or weight == pytest.approx(naive.tree_weight(workload.core, brokers))
    assert float((tree.traffic * workload.core[tree.u, tree.v]).sum()) == pytest.approx(tree.core)


@given(assigned())
def test_traffic_is_above_the_diagonal(given: tuple[Workload, list[int]]) -> None:
    """Each link appears once, from the smaller to the larger broker."""
    assert not np.tril(link_traffic(cost(*given))).any()


def test_loads_are_fractions_of_capacities() -> None:
    """The largest load counts; a broker without capacity is infinitely loaded by any user with traffic."""
    workload = Workload.build(
        ["a", "b"],
        ["x", "y"],
        ["only"],
        rates=([0, 1], [0, 0], [1.0, 3.0]),
        subscriptions=([0, 1], [0, 0]),
        access=np.ones((2, 2)),
        core=np.ones((2, 2)) - np.eye(2),
        capacity=[8.0, 0.0],
    )
    together, apart = cost(workload, [0, 0]), cost(workload, [0, 1])
    assert (together.load.tolist(), together.max_load, together.within_capacity) == ([8.0, 0.0], 1.0, True)
    assert (apart.max_load, apart.within_capacity) == (np.inf, False)
    assert not cost(replace(workload, capacity=workload.capacity * 0.999), [0, 0]).within_capacity
    rounded = replace(workload, capacity=workload.capacity * (1 - 1e-12))
    assert cost(rounded, [0, 0]).within_capacity
