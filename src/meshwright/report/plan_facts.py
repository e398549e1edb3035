"""What the page of a plan is about: the plan with its verdict and trees, and the facts drawn from them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from meshwright import measure
from meshwright.formatting import hide_secrets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.costs.link_costs import LinkCosts
    from meshwright.designs.plan import Plan
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay
    from meshwright.progress import Progress
    from meshwright.routes import Trees
    from meshwright.store.bridges import Bridges
    from meshwright.verify.claims import PlanReport


@dataclass(frozen=True, eq=False)
class PlanFacts:
    """A plan, what is true of it, and the way of its messages."""

    name: str
    """What messages call it, such as its folder; empty in memory."""
    overlay: Overlay
    algorithm: str
    parameters: Mapping[str, Any]
    seed: int
    figures: Mapping[str, Any]
    """What the plan states; the verdict says whether it is true."""
    fingerprint: str
    """Of the dataset."""
    verdict: PlanReport
    trees: Trees
    routed: bool
    """Whether the plan has the trees itself; otherwise they were chosen for the page."""
    tree_figures: Mapping[str, Any]
    groups: pa.Table | None = None
    """`filter, group`: MQTT filters that were planned together."""
    today: Bridges | None = None

    @property
    def interest(self) -> Interest:
        """What was planned: brokers with their topics, or with their groups of filters."""
        return self.overlay.interest

    @cached_property
    def degrees(self) -> NDArray[Any]:
        """The links of each broker."""
        return measure.degrees(self.overlay).of_node

    @property
    def messages(self) -> bool:
        """Whether the stated loads are messages; without rates they count topics."""
        from meshwright.routes.trees import loads

        stated = self.tree_figures.get("max_link_load", 0.0)
        return not np.isclose(stated, loads(self.trees).of_link.max(initial=0.0))


def facts_of_plan(plan: Plan, *, today: Bridges | None = None) -> PlanFacts:
    """Return the facts of a plan in memory; its trees are chosen by hops."""
    from meshwright.routes import figures, route
    from meshwright.store.plan_check import verify_made_plan

    trees = route(plan.overlay)
    return PlanFacts(
        name="",
        overlay=plan.overlay,
        algorithm=plan.algorithm,
        parameters=plan.stated_parameters,
        seed=plan.seed,
        figures=plan.figures,
        fingerprint=plan.overlay.interest.fingerprint,
        verdict=verify_made_plan(plan),
        trees=trees,
        routed=False,
        tree_figures=figures(trees),
        today=today,
    )


def facts_of_stored_plan(
    path: str | Path,
    interest: Interest,
    *,
    name: str = "",
    today: Bridges | None = None,
    costs: LinkCosts | None = None,
    progress: Progress | None = None,
) -> PlanFacts:
    """Return the facts of a plan's folder, with its trees; if it has none, they are chosen by hops."""
    from meshwright.routes import figures, route
    from meshwright.store.plan_check import verify_stored_plan
    from meshwright.store.plans import read_plan
    from meshwright.store.trees import StoredTrees, read_tree_tables, trees_on

    stored = read_plan(path)
    overlay = stored.overlay_on(interest)
    verdict = verify_stored_plan(path, interest, costs=costs, progress=progress)
    stated = {} if stored.routes is None else stored.routes["figures"]
    stated = {name: value for name, value in stated.items() if value is not None}
    routed = stored.routes is not None
    trees = trees_on(StoredTrees(stored, read_tree_tables(stored)), overlay) if routed else route(overlay)
    return PlanFacts(
        name=hide_secrets(name or str(path)),
        overlay=overlay,
        algorithm=stored.metadata["algorithm"],
        parameters=stored.metadata["parameters"],
        seed=int(stored.metadata.get("seed", 0)),
        figures=stored.figures,
        fingerprint=stored.metadata["dataset"],
        verdict=verdict,
        trees=trees,
        routed=routed,
        tree_figures=figures(trees) | stated,
        groups=None if stored.choice is None else stored.group_tables.groups,
        today=today,
    )


class Saving(NamedTuple):
    """Another way to link the brokers, to compare a plan with."""

    way: str
    links: int
    max_degree: int
    support: float


def alternatives(facts: PlanFacts) -> list[Saving]:
    """Return a ring per topic, a full mesh and, if known, today's bridges."""
    from meshwright.designs.rings_and_stars import ring

    nodes = facts.interest.num_nodes
    rings = measure.degrees(ring(facts.interest))
    found = [
        Saving("a ring per topic", int(rings.of_node.sum()) // 2, rings.maximum, 1.0),
        Saving("a full mesh", nodes * (nodes - 1) // 2, max(nodes - 1, 0), 1.0),
    ]
    if facts.today is not None:
        bridges = facts.today.overlay
        degree = measure.degrees(bridges).maximum
        found.append(Saving("the bridges of today", len(bridges), degree, measure.support(bridges)))
    return found


class TopicEffort(NamedTuple):
    """What it takes to connect each topic, by topic."""

    links: NDArray[np.float64]
    """The links that it needs; one that connects k topics counts 1/k for each. They add up to all links."""
    pieces: NDArray[np.int64]
    """Its components: more than one if it is split."""


def topic_effort(overlay: Overlay) -> TopicEffort:
    """Return the links that each topic needs, and whether it is split.

    >>> import meshwright as mw
    >>> topic_effort(mw.design({"a": {"x", "y"}, "b": {"x", "y"}, "c": {"y"}}, "gm").overlay).links.tolist()
    [0.5, 1.5]
    """
    interest = overlay.interest
    merges = measure.merges(overlay)
    shares = 1 / np.maximum(np.bincount(merges.links, minlength=len(overlay)), 1)
    links = np.bincount(merges.topics, weights=shares[merges.links], minlength=interest.num_topics)
    subscribers = np.diff(interest.topic_ptr)
    return TopicEffort(
        links.astype(np.float64), subscribers - np.bincount(merges.topics, minlength=interest.num_topics)
    )


def made_by(facts: PlanFacts) -> str:
    """Return the command that makes the plan.

    Infinite and unset parameters read as on the command line; files have placeholders.
    """
    words = ["meshwright", "plan", "DATASET", "--algorithm", facts.algorithm]
    advised = {"front", "max_degree"} <= {*facts.parameters}  # the limit of a trade-off comes from advice
    if advised:
        words = ["meshwright", "advise", "DATASET"]
    for name, value in facts.parameters.items():
        option = f"--{name.replace('_', '-')}"
        if name == "costs":
            words += [option, "FILE"]
        elif value is True:
            words.append(option)
        elif name == "front":
            words += [] if advised else ["--objective", "front"]
        elif name == "coverage" and "parts" in facts.parameters:
            words[-1] += f",{value}"
        elif value is not None and value is not False:
            words += [option, f"{value:g}" if isinstance(value, float) else str(value)]
    if facts.seed:
        words += ["--seed", str(facts.seed)]
    if "lower_bound" in facts.figures and not advised:
        words.append("--certify")
    return shlex.join([*words, "--out", "PLAN"])
