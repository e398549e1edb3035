"""Route: choose the tree that each topic's messages take, and store the trees in the plan."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError, first_five
from meshwright.formatting import amount, counted

if TYPE_CHECKING:
    from meshwright.actions.sources import FileColumns
    from meshwright.filters.filter_plan import PlannedFilters
    from meshwright.interest import Interest
    from meshwright.routes import Trees


@dataclass(frozen=True, eq=False)
class Routing:
    """The trees of a plan."""

    plan: str
    trees: Trees
    unknown_publishers: int = 0
    """Publishers that are not brokers."""
    with_rates: bool = False
    outdated: str | None = None
    """How to make the plan's page again, which showed no trees or other ones."""
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every topic has a tree."""
        return not len(self.trees.unreachable)

    def figures(self) -> dict[str, Any]:
        """Return the figures of the trees."""
        from meshwright.routes import figures, stretch

        ratio = stretch(self.trees)
        return {
            **figures(self.trees),
            "mean_stretch": ratio.mean,
            "max_stretch": ratio.most,
            "stretch_sources": ratio.sources,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the trees for a JSON answer."""
        return {
            "plan": self.plan,
            "objective": self.trees.objective,
            **self.figures(),
            "unknown_publishers": self.unknown_publishers,
            "topics": _figures_by_topic(self.trees),
        }

    @property
    def lines(self) -> list[str]:
        """Lines for people: hops, load, relays, publishers, and topics without a tree."""
        trees, measured = self.trees, self.figures()
        load, copies = measured["max_link_load"], measured["max_broker_load"]
        most = f"{amount(load)} messages a second" if self.with_rates else counted(int(load), "topic")
        # A load is of one message for each topic if no rates are given.
        passed_on = f"{amount(copies)} {'copy' if copies == 1 else 'copies'} "
        passed_on += "a second" if self.with_rates else "of one message per topic"
        names = trees.overlay.interest.topic_names
        lines = [
            f"{counted(measured['trees'], 'tree')}, by {trees.objective}, "
            f"over {counted(measured['links_used'], 'link')}",
            f"hops: {measured['mean_hops']:.2f} on average, {measured['max_hops']} at most; "
            f"{measured['mean_stretch']:.2f} times the shortest paths of the overlay",
            f"load: {most} on the busiest link ({amount(measured['mean_link_load'])} on average); "
            f"the busiest broker passes on {passed_on}",
        ]
        if measured["relays"]:
            relayed = sorted(set(trees.topics[trees.relay].tolist()))
            brokers = counted(len(set(trees.nodes[trees.relay].tolist())), "broker")
            topics = first_five(names[topic].as_py() for topic in relayed)
            lines.append(
                f"relays: {measured['relays']:,} at {brokers}, passing on messages of topics {topics} "
                "without a subscription"
            )
        if measured["publishers"]:
            lines.append(f"publishers: {measured['publishers']:,} attached by one-way links")
        if self.unknown_publishers:
            unknown = counted(self.unknown_publishers, "publisher")
            lines.append(f"not attached: {unknown}, not among the brokers")
        if not self.passed:
            topics = first_five(names[topic].as_py() for topic in trees.unreachable.tolist())
            lines.append(f"NO tree: subscribers of {topics} cannot reach each other over these links")
        return [*lines, f"written to {self.plan}", *([self.outdated] if self.outdated else [])]


def route(
    plan: str | Path,
    source: str | Path,
    *,
    objective: str = "hops",
    rates: str | Path | None = None,
    today: str | Path | None = None,
    columns: FileColumns | None = None,
) -> Routing:
    """Choose a tree for each topic of a stored plan, inside its overlay, and store the trees in it.

    Parameters
    ----------
    source
        The dataset or file that the plan was made for.
    objective
        `hops`, `load` or `stable`.
    rates
        A folder of traffic: messages a second, and publishers that are attached by one-way links.
    today
        With `stable`: the plan whose trees are in use; by default the plan itself.

    Raises
    ------
    InputError
        If the objective is unknown, or the plan was made for other subscriptions.
    """
    from meshwright.actions.sources import load_plan
    from meshwright.files.urls import names_in
    from meshwright.routes import OBJECTIVES
    from meshwright.routes import route as choose
    from meshwright.store.trees import read_trees, tree_ids, write_trees

    if objective not in OBJECTIVES:
        raise InputError(f"no objective {objective!r}: choose one of {', '.join(OBJECTIVES)}")
    if today is not None and objective != "stable":
        raise InputError("--today needs --objective stable: add it, or omit --today")
    loaded = load_plan(plan, source, columns)
    overlay, planned = loaded.overlay, loaded.filters
    given, unknown = ({}, 0) if rates is None else _read_rates(rates, overlay.interest, planned)
    if objective == "stable":
        given["today"] = tree_ids(read_trees(today or plan).trees, overlay.interest)
    trees = choose(overlay, objective, filters=planned, **given)
    before = names_in(str(plan))
    write_trees(trees, plan)
    outdated = None
    if "report.html" in before:
        words = [
            "meshwright report",
            quote(str(plan)),
            quote(str(source)),
            *(columns.resolved().options if columns else []),
        ]
        what = "showed other trees" if "trees.parquet" in before else "was made before the plan had trees"
        outdated = f"report.html {what} and is removed; make it again: {' '.join(words)}"
    return Routing(str(plan), trees, unknown, rates is not None, outdated, loaded.notes)


def _read_rates(
    rates: str | Path, interest: Interest, planned: PlannedFilters | None
) -> tuple[dict[str, Any], int]:
    """Return the topics' rates and publishers, and the number of publishers that are not brokers.

    A published topic counts for the topic of its name or, with MQTT filters, for the group that it matches.
    """
    import numpy as np
    import pyarrow as pa

    from meshwright.store.traffic import read_traffic

    traffic = read_traffic(rates)
    channels = traffic.channels.column("channel").to_pylist()
    if planned is None:
        known = {str(name): number for number, name in enumerate(interest.topic_names.to_pylist())}
        topic_of = {channel: known[channel] for channel in channels if channel in known}
    else:
        topic_of = planned.groups_of(channels)
    by_topic = np.zeros(interest.num_topics)
    for channel, rate in zip(channels, traffic.channels.column("rate").to_pylist(), strict=True):
        if channel in topic_of:
            by_topic[topic_of[channel]] += rate
    names = interest.node_names.cast(pa.string()).to_pylist()
    number_of = {name: number for number, name in enumerate(names)}
    publishers, published = (traffic.rates.column(name).to_pylist() for name in ("publisher", "channel"))
    attached = {
        (number_of[publisher], topic_of[channel])
        for publisher, channel in zip(publishers, published, strict=True)
        if publisher in number_of and channel in topic_of
    }
    unknown = set(publishers) - number_of.keys()
    return {"rates": by_topic, "publishers": sorted(attached)}, len(unknown)


def _figures_by_topic(trees: Trees) -> list[dict[str, Any]]:
    """Return the hops and relays of each topic that has a tree."""
    from meshwright.routes import hops

    interest, distances = trees.overlay.interest, hops(trees)
    brokers, topics = interest.node_names.to_pylist(), interest.topic_names.to_pylist()
    relays: dict[int, list[Any]] = {}
    for entry in trees.relay.nonzero()[0].tolist():
        relays.setdefault(int(trees.topics[entry]), []).append(brokers[trees.nodes[entry]])
    return [
        {
            "topic": topics[topic],
            "brokers": int(trees.ptr[topic + 1] - trees.ptr[topic]),
            "mean_hops": float(distances.mean_of_topic[topic]),
            "usual_hops": int(distances.usual_of_topic[topic]),
            "max_hops": int(distances.most_of_topic[topic]),
            "relays": relays.get(topic, []),
        }
        for topic in range(interest.num_topics)
        if trees.ptr[topic + 1] > trees.ptr[topic]
    ]
