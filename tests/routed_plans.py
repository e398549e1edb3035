"""Plans with trees for hypothesis to draw, and a parser that reads configuration files back."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from calls import crowds, seeds
from meshwright import Interest
from meshwright.deploy.named_trees import NamedTrees
from meshwright.designs.design import design
from meshwright.filters.filter_plan import PlannedFilters
from meshwright.greedy import grow, rules
from meshwright.plan_tables import TREES
from meshwright.routes import Trees, route
from meshwright.store.plan_writer import write_plan
from meshwright.store.trees import read_trees, roles_of, tree_ids, write_trees
from meshwright.workloads import zipf


def named_trees(trees: Trees) -> NamedTrees:
    """Return trees by name, as from a stored plan."""
    names = trees.overlay.interest.node_names.to_pylist()
    return NamedTrees.from_tables(trees.to_arrow().cast(TREES), roles_of(trees), map(str, names))


def grouped_trees(planned: PlannedFilters, trees: Trees) -> NamedTrees:
    """Return the trees of groups by name, with the filters that brokers hold."""
    held = planned.held.to_arrow()
    return named_trees(trees).with_filters(
        {row["filter"]: row["group"] for row in planned.table().to_pylist()},
        zip(held.column("node").to_pylist(), held.column("topic").to_pylist(), strict=True),
    )


@st.composite
def routed_plans(draw: st.DrawFn) -> tuple[Interest, Trees]:
    """Draw an interest and trees for it, by any objective, some with publishers."""
    interest = draw(crowds(nodes=(2, 12), topics=(1, 8), subscriptions=60))
    rng = np.random.default_rng(draw(seeds))
    overlay = grow(interest, rules.low(3))
    pairs = [(v, t) for v in range(interest.num_nodes) for t in range(interest.num_topics)]
    publishers = [pair for pair in pairs if rng.random() < draw(st.sampled_from([0.0, 0.1]))]
    objective = draw(st.sampled_from(["hops", "load"]))
    return interest, route(overlay, objective, publishers=publishers, rates=rng.random(interest.num_topics))


def write_routed_plan(folder: Path, brokers: int = 6, *, seed: int = 0, today: Path | None = None) -> Path:
    """Write a plan with trees, which keep as much as possible of those of another plan; return its folder."""
    interest = zipf(brokers, 5, size=3, seed=seed)
    plan = folder / f"plan-{brokers}-{seed}"
    made = design(interest, "gm", rounds=3)
    write_plan(made, plan)
    links = () if today is None else tree_ids(read_trees(today).trees, interest)
    write_trees(route(made.overlay, "hops" if today is None else "stable", today=links), plan)
    return plan


@dataclass
class Bridge:
    """One `connection` of a configuration file."""

    options: dict[str, str]
    topics: list[tuple[str, str]] = field(default_factory=list)
    """Topics with their directions."""
    former: list[str] = field(default_factory=list)
    """Topics that the bridge only unsubscribes from."""


def parse_configuration(file: Path) -> tuple[dict[str, str], list[Bridge]]:
    """Read a mosquitto.conf: the options of the broker, and its bridges."""
    own: dict[str, str] = {}
    bridges: list[Bridge] = []
    for line in file.read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(" ")
        if not line or line.startswith("#"):
            continue
        if key == "connection":
            bridges.append(Bridge({}))
        if key == "topic":
            topic, direction, qos, local, remote = value.split(" ")
            durable = bridges[-1].options["cleansession"] == "false"
            assert (qos, remote) == ("2" if durable else "1", '""')
            if local == '""':
                bridges[-1].topics.append((topic, direction))
            else:
                assert (durable, local, direction) == (True, "meshwright-gone/", "out")
                bridges[-1].former.append(topic)
        elif bridges:
            assert key not in bridges[-1].options
            bridges[-1].options[key] = value
        else:
            own[key] = value
    return own, bridges
