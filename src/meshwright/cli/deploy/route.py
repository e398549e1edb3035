"""`meshwright route`: which tree each topic's messages take."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meshwright.cli.options import Json, Source

if TYPE_CHECKING:
    from meshwright.interest import Interest
    from meshwright.routes import Trees

EXAMPLES = (
    "meshwright route plan subscriptions.csv",
    "meshwright route plan dataset --objective load --rates traffic",
    "meshwright route plan dataset --objective stable --today plan-of-yesterday",
)


def route(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan's folder; the trees go into it.")],
    source: Source,
    *,
    objective: Annotated[
        str,
        typer.Option(
            "--objective",
            metavar="hops|load|stable",
            help="Short ways, messages spread over links, or few changes against today's trees.",
        ),
    ] = "hops",
    rates: Annotated[
        Path | None,
        typer.Option("--rates", metavar="TRAFFIC", help="Messages a second: a folder made by traffic."),
    ] = None,
    today: Annotated[
        Path | None,
        typer.Option("--today", metavar="PLAN", help="For stable: whose trees are in use; its own else."),
    ] = None,
    json: Json = False,
) -> None:
    """Choose a tree for each topic, inside the overlay, and keep the trees with the plan.

    A tree takes in the topic's subscribers and nobody else; where a partial plan leaves them apart, as few
    relays as an approximate Steiner tree needs are added. With --rates, brokers that publish on a topic
    without subscribing to it are attached by one-way links. The exit code is 1 if a topic cannot be spanned.
    """
    from meshwright.cli import output
    from meshwright.cli.output import ANSWER_IS_NO
    from meshwright.cli.plans import design_runs
    from meshwright.errors import InputError
    from meshwright.routes import OBJECTIVES, figures, stretch
    from meshwright.routes import route as choose
    from meshwright.store import read_plan, read_trees, write_trees
    from meshwright.store.trees import tree_ids

    if objective not in OBJECTIVES:
        raise InputError(f"no objective {objective!r}: choose one of {', '.join(OBJECTIVES)}")
    if today is not None and objective != "stable":
        raise InputError("--today is about --objective stable: leave it out, or ask for that")
    stored = read_plan(plan)
    interest = design_runs.load(source)
    overlay = stored.overlay_on(interest)
    asked, strangers = ({}, 0) if rates is None else _published(rates, interest)
    if objective == "stable":
        asked["today"] = tree_ids(read_trees(today or plan).trees, interest)
    trees = choose(overlay, objective, **asked)
    write_trees(trees, plan)
    longer = stretch(trees)
    ways = {"mean_stretch": longer.mean, "max_stretch": longer.most, "stretch_sources": longer.sources}
    told = {**figures(trees), **ways}
    if json:
        stated = {"plan": str(plan), "objective": objective, **told, "unknown_publishers": strangers}
        output.answer_json({**stated, "topics": _by_topic(trees)})
    else:
        output.answer(*_told(trees, told, strangers), f"written to {plan}")
    if len(trees.unreachable):
        raise typer.Exit(ANSWER_IS_NO)


def _published(rates: Path, interest: "Interest") -> tuple[dict[str, Any], int]:
    """Return topics' rates and who publishes on what, and how many publishers are no brokers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from meshwright.store.traffic import read_traffic

    traffic = read_traffic(rates)
    brokers, topics = interest.node_names.cast(pa.string()), interest.topic_names.cast(pa.string())
    place = pc.index_in(topics, traffic.channels.column("channel"))
    by_topic = pc.fill_null(traffic.channels.column("rate").take(place), 0.0).to_numpy()
    who = pc.index_in(traffic.rates.column("publisher"), brokers)
    what = pc.index_in(traffic.rates.column("channel"), topics)
    known = pc.and_(who.is_valid(), what.is_valid())
    pairs = zip(who.filter(known).to_pylist(), what.filter(known).to_pylist(), strict=True)
    strangers = traffic.rates.column("publisher").filter(who.is_null()).unique()
    return {"rates": by_topic, "publishers": list(pairs)}, len(strangers)


def _by_topic(trees: "Trees") -> list[dict[str, Any]]:
    """Return hops and relays of each topic that has a tree."""
    from meshwright.routes import hops

    interest, way = trees.overlay.interest, hops(trees)
    brokers, topics = interest.node_names.to_pylist(), interest.topic_names.to_pylist()
    relays: dict[int, list[Any]] = {}
    for entry in trees.relay.nonzero()[0].tolist():
        relays.setdefault(int(trees.topics[entry]), []).append(brokers[trees.nodes[entry]])
    return [
        {
            "topic": topics[topic],
            "brokers": int(trees.ptr[topic + 1] - trees.ptr[topic]),
            "mean_hops": float(way.mean_of_topic[topic]),
            "usual_hops": int(way.usual_of_topic[topic]),
            "max_hops": int(way.most_of_topic[topic]),
            "relays": relays.get(topic, []),
        }
        for topic in range(interest.num_topics)
        if trees.ptr[topic + 1] > trees.ptr[topic]
    ]


def _told(trees: "Trees", told: dict[str, Any], strangers: int) -> list[str]:
    from meshwright.errors import first_five
    from meshwright.formatting import amount

    names = trees.overlay.interest.topic_names
    lines = [
        f"{told['trees']:,} trees, by {trees.objective}, over {told['links_used']:,} links",
        f"hops: {told['mean_hops']:.2f} on average, {told['max_hops']} at most; "
        f"{told['mean_stretch']:.2f} times the shortest ways of the overlay",
        f"load: {amount(told['max_link_load'])} messages a second on the busiest link "
        f"({amount(told['mean_link_load'])} on average), {amount(told['max_broker_load'])} passed on by the "
        "busiest broker",
    ]
    if told["relays"]:
        relayed = {trees.topics[i] for i in trees.relay.nonzero()[0].tolist()}
        some = first_five(names[int(topic)].as_py() for topic in sorted(relayed))
        lines.append(
            f"relays: {told['relays']:,} brokers pass on what they did not ask for, of topics {some}"
        )
    if told["publishers"]:
        lines.append(f"publishers: {told['publishers']:,} attached by one-way links")
    if strangers:
        lines.append(f"not attached: {strangers:,} publishers that are no brokers of the dataset")
    if len(trees.unreachable):
        apart = first_five(names[topic].as_py() for topic in trees.unreachable.tolist())
        lines.append(f"NO tree: subscribers of {apart} cannot reach each other over these links")
    return lines
