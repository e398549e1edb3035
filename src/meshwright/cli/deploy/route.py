"""`meshwright route`: choose the tree that each topic's messages take."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meshwright.cli.options import (
    Delimiter,
    Json,
    NodeColumn,
    NoHeader,
    Source,
    TopicColumn,
    file_columns,
)

if TYPE_CHECKING:
    from meshwright.filters import PlannedFilters
    from meshwright.interest import Interest
    from meshwright.routes import Trees

EXAMPLES = (
    "meshwright route plan subscriptions.csv",
    "meshwright route plan dataset --objective load --rates traffic",
    "meshwright route plan dataset --objective stable --today plan-of-yesterday",
)


def route(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="A plan's folder; the trees are added to it.")],
    source: Source,
    *,
    objective: Annotated[
        str,
        typer.Option(
            "--objective",
            metavar="hops|load|stable",
            help="Short paths, messages spread over links, or few changes from today's trees.",
        ),
    ] = "hops",
    rates: Annotated[
        Path | None,
        typer.Option("--rates", metavar="TRAFFIC", help="Messages a second: a folder made by traffic."),
    ] = None,
    today: Annotated[
        str | None,
        typer.Option(
            "--today", metavar="PLAN", help="With stable: the plan whose trees are in use; default: PLAN."
        ),
    ] = None,
    node: NodeColumn = "node",
    topic: TopicColumn = "topic",
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    json: Json = False,
) -> None:
    """Choose a tree for each topic, inside the overlay, and store the trees in the plan.

    A tree contains exactly the topic's subscribers. The tree of a group of MQTT filters contains the brokers
    that hold one of them; among trees of the same depth, it is one with few relayed deliveries. Where a
    partial plan leaves subscribers apart, relays are added, as few as an approximate Steiner tree needs. With
    --rates, brokers that publish on a topic without subscribing to it are attached by one-way links. The exit
    code is 1 if a topic cannot be spanned.
    """
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO
    from meshwright.cli.plans import design_runs
    from meshwright.errors import InputError
    from meshwright.files.places import names_in
    from meshwright.routes import OBJECTIVES, figures, stretch
    from meshwright.routes import route as choose
    from meshwright.routes.few_relays import prefer_few_relays
    from meshwright.store.plans import read_plan
    from meshwright.store.trees import read_trees, tree_ids, write_trees

    if objective not in OBJECTIVES:
        raise InputError(f"no objective {objective!r}: choose one of {', '.join(OBJECTIVES)}")
    if today is not None and objective != "stable":
        raise InputError("--today needs --objective stable: add it, or omit --today")
    stored = read_plan(plan)
    columns = file_columns(node, topic, delimiter, no_header)
    loaded = design_runs.load(source, columns)
    planned = stored.planned_filters(loaded)
    overlay = stored.overlay_on(loaded if planned is None else planned.groups)
    interest = overlay.interest
    given, unknown = ({}, 0) if rates is None else _read_rates(rates, interest, planned)
    if objective == "stable":
        given["today"] = tree_ids(read_trees(today or plan).trees, interest)
    trees = choose(overlay, objective, **given)
    if planned is not None and objective == "hops":
        trees = prefer_few_relays(trees, planned)
    outdated = "report.html" in names_in(plan)
    write_trees(trees, plan)
    ratio = stretch(trees)
    measured = {
        **figures(trees),
        "mean_stretch": ratio.mean,
        "max_stretch": ratio.most,
        "stretch_sources": ratio.sources,
    }
    if json:
        head = {"plan": str(plan), "objective": objective, **measured, "unknown_publishers": unknown}
        output.answer_json({**head, "topics": _figures_by_topic(trees)})
    else:
        lines = _format_figures(trees, measured, unknown, with_rates=rates is not None)
        command = " ".join(["meshwright report", quote(plan), quote(source), *columns.options])
        before = "was made before the plan had trees" if stored.routes is None else "showed other trees"
        again = f"report.html {before} and is removed; make it again: {command}"
        output.answer(*lines, f"written to {plan}", *([again] if outdated else []))
    if len(trees.unreachable):
        raise typer.Exit(ANSWER_IS_NO)


def _read_rates(
    rates: Path, interest: "Interest", planned: "PlannedFilters | None"
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
    number_of = {
        name: number for number, name in enumerate(interest.node_names.cast(pa.string()).to_pylist())
    }
    pairs = list(
        zip(
            traffic.rates.column("publisher").to_pylist(),
            traffic.rates.column("channel").to_pylist(),
            strict=True,
        )
    )
    attached = {
        (number_of[publisher], topic_of[channel])
        for publisher, channel in pairs
        if publisher in number_of and channel in topic_of
    }
    unknown = {publisher for publisher, _ in pairs if publisher not in number_of}
    return {"rates": by_topic, "publishers": sorted(attached)}, len(unknown)


def _figures_by_topic(trees: "Trees") -> list[dict[str, Any]]:
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


def _format_figures(
    trees: "Trees", measured: dict[str, Any], unknown_publishers: int, *, with_rates: bool
) -> list[str]:
    """Return lines about the trees: hops, load, relays, publishers, and topics without a tree."""
    from meshwright.errors import first_five
    from meshwright.formatting import amount, counted

    load = measured["max_link_load"]
    most = f"{amount(load)} messages a second" if with_rates else counted(int(load), "topic")
    copies = measured["max_broker_load"]
    # A load is of one message for each topic if no rates are given.
    passed_on = f"{amount(copies)} {'copy' if copies == 1 else 'copies'} "
    passed_on += "a second" if with_rates else "of one message per topic"
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
            f"relays: {measured['relays']:,} at {brokers}, passing on messages of topics {topics} without a "
            "subscription"
        )
    if measured["publishers"]:
        lines.append(f"publishers: {measured['publishers']:,} attached by one-way links")
    if unknown_publishers:
        lines.append(f"not attached: {counted(unknown_publishers, 'publisher')}, not among the brokers")
    if len(trees.unreachable):
        topics = first_five(names[topic].as_py() for topic in trees.unreachable.tolist())
        lines.append(f"NO tree: subscribers of {topics} cannot reach each other over these links")
    return lines
