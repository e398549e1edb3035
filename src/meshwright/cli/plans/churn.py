"""`meshwright churn` and `meshwright chaos`: brokers come, go and fail, and the overlay is repaired."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.options import (
    Delimiter,
    Json,
    NodeColumn,
    NoHeader,
    Seed,
    ShowProgress,
    Source,
    TopicColumn,
    file_columns,
)

if TYPE_CHECKING:
    from rich.table import Table

    from meshwright.churn import Event, FilterEvents, FromScratch, Policy, Replay, Scenario
    from meshwright.overlay import Overlay

CHURN_EXAMPLES = (
    "meshwright churn plan subscriptions.csv --rounds 100",
    "meshwright churn plan subscriptions.csv --rounds 100 --compare naive,shadow,tidy,rebuild --out churn",
    "meshwright churn plan subscriptions.csv --trace events.jsonl --policy tidy",
    "meshwright churn plan subscriptions.csv --rounds 100 --letter --scratch-every 1",
)

CHAOS_EXAMPLES = (
    "meshwright chaos plan subscriptions.csv",
    "meshwright chaos plan subscriptions.csv --most 2 --policies shadow,rebuild --samples 20",
)


def churn(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="A plan's folder, every topic connected.")],
    source: Source,
    *,
    rounds: Annotated[
        int | None,
        typer.Option("--rounds", metavar="N", min=1, help="Rounds of random churn; 1000 by default."),
    ] = None,
    policy: Annotated[
        str, typer.Option("--policy", metavar="NAME", help="naive, shadow, tidy or rebuild.")
    ] = "shadow",
    compare: Annotated[
        str | None,
        typer.Option("--compare", metavar="A,B,C", help="Run the same churn under several policies."),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace", metavar="FILE", help="Replay these events (JSON lines, or a folder of them)."
        ),
    ] = None,
    burst: Annotated[
        int, typer.Option("--burst", metavar="N", min=1, help="Number of brokers that join or crash at once.")
    ] = 1,
    backups: Annotated[
        str, typer.Option("--backups", metavar="NAME", help="How backups are chosen: primal-dual or greedy.")
    ] = "primal-dual",
    coverage: Annotated[
        int, typer.Option("--coverage", metavar="N", min=1, help="How often backups cover each topic: λ.")
    ] = 3,
    rho: Annotated[
        float, typer.Option("--rho", metavar="R", help="1 favours few links, more a low maximum degree.")
    ] = 3.0,
    letter: Annotated[
        bool,
        typer.Option("--letter", help="Follow the paper exactly; slower, see 'Overlays under churn'."),
    ] = False,
    scratch_every: Annotated[
        int | None,
        typer.Option(
            "--scratch-every",
            metavar="N",
            min=0,
            help="Compare with Low-ODA from scratch every N rounds: 1 is each, 0 the last only; ten times in "
            "all by default, as it is slow.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder for rounds, final dataset and plan, and a chart."),
    ] = None,
    node: NodeColumn = "node",
    topic: TopicColumn = "topic",
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    seed: Seed = 0,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Let brokers join and leave, repair the overlay each time, and report the cost of repair.

    The churn is random (joins and leaves are equally likely, new brokers resemble existing ones) or read from
    a trace. The table also shows Low-ODA from scratch. Below it is what the paper plots: repair ratios, the
    time of the greedy step, shadow sets, backups and primaries, and the gap to Low-ODA from scratch.

    A plan of MQTT filters changes as it was planned: by groups of filters that overlap. Random newcomers hold
    groups. A trace names filters, and one that joins several groups is refused. --out has groups as topics.

    --letter chooses backups among all brokers, chooses all backups of a broker again when it loses one, takes
    the maximum degree of the whole overlay in the rule, and makes newcomers nobody's backups.
    """
    from meshwright import churn as room
    from meshwright.actions.outputs import check_target
    from meshwright.actions.sources import format_size
    from meshwright.cli import output
    from meshwright.cli.plans import design_runs
    from meshwright.errors import InputError
    from meshwright.formatting import counted
    from meshwright.report import churn_chart, churn_lines, churn_table
    from meshwright.store.runs import read_trace, write_churn

    if trace is not None and (rounds is not None or burst > 1):
        raise InputError("--trace defines the events: leave out --rounds and --burst")
    names = _names(policy, compare)
    make: Callable[..., Policy] = room.Policy.letter if letter else room.Policy
    policies = [make(name, backups=backups, coverage=coverage, rho=rho) for name in names]
    if out is not None:
        check_target(out, "churn run")
    overlay, filters = design_runs.load_overlay(plan, source, file_columns(node, topic, delimiter, no_header))
    interest = overlay.interest
    if trace is not None:
        with output.working(f"reading {trace}"):
            happened = list(read_trace(trace))
        if filters is not None:
            happened = _on_groups(room.FilterEvents.from_planned(filters), happened)
        if not any(happened):
            raise InputError(f"{trace} has no event that changes this plan: give a trace with some")
    else:
        happened = list(room.random_churn(interest, rounds or 1000, seed=seed, burst=burst))
    every = max(1, len(happened) // 10) if scratch_every is None else scratch_every or None
    scratch = room.FromScratch(every)  # all policies see the same brokers, so each design is made once
    replays = {
        each.name: _replay(overlay, each, happened, scratch, seed=seed, shown=progress) for each in policies
    }
    title = f"{format_size(interest)}; {counted(len(happened), 'round')} of churn"
    if out is not None:
        write_churn(replays, out, seed=seed, draw=lambda file: churn_chart(replays, file, title=title))
    if json:
        grouped = {} if filters is None else {"filters": filters.held.num_topics}
        figures = [{**each.figures, **grouped, "out": out and str(out)} for each in replays.values()]
        output.answer_json({"policies": figures} if compare is not None else figures[0])
    else:
        written = [] if out is None else [f"written to {out}"]
        output.answer(
            title,
            *design_runs.group_lines(filters),
            churn_table(replays.values()),
            *churn_lines(replays.values()),
            *written,
        )


def _on_groups(filters: "FilterEvents", happened: "list[list[Event]]") -> "list[list[Event]]":
    """Return what the events of a trace, which names filters, mean for groups."""
    from meshwright.errors import InputError

    made = []
    for number, events in enumerate(happened, start=1):
        try:
            made.append(filters.on_groups(events))
        except InputError as error:
            raise InputError(f"round {number}: {error}") from error
    return made


def _names(policy: str, compare: str | None) -> list[str]:
    """Return the policies to run; each must occur once."""
    from meshwright.cli.plans.design_runs import split_names

    return [policy] if compare is None else split_names(compare, "--compare", "naive,shadow,tidy,rebuild")


def _replay(
    overlay: "Overlay",
    policy: "Policy",
    happened: Sequence[Sequence["Event"]],
    scratch: "FromScratch",
    *,
    seed: int,
    shown: bool,
) -> "Replay":
    from meshwright import churn as room
    from meshwright.cli.progress_bar import ProgressBar

    with ProgressBar(policy.name, forced=shown) as drawing:
        live = room.LiveOverlay(overlay, policy, seed=seed)
        rounds = [events for events in happened if events]

        def draw(done: int, share: float, _: str) -> None:
            drawing(live.num_edges, share, f"{done:,} of {len(rounds):,} rounds")

        return room.replay(live, rounds, scratch=scratch, progress=draw)


def chaos(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="A plan's folder, every topic connected.")],
    source: Source,
    *,
    most: Annotated[
        int, typer.Option("--most", metavar="K", min=1, help="Maximum number of brokers that fail at once.")
    ] = 3,
    samples: Annotated[
        int,
        typer.Option(
            "--samples",
            metavar="N",
            min=1,
            help="Number of random sets of each size, and of repairs of each kind.",
        ),
    ] = 100,
    policies: Annotated[
        str, typer.Option("--policies", metavar="A,B,C", help="Policies whose repairs to try.")
    ] = "naive,shadow,tidy",
    node: NodeColumn = "node",
    topic: TopicColumn = "topic",
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    seed: Seed = 0,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Let brokers fail, alone and together, and report what breaks and what repair costs.

    It tries each broker alone, random sets, the brokers with the most links, and those whose failure cuts off
    the most subscribers. Topics of a plan of MQTT filters are groups of filters that overlap.
    """
    from meshwright import churn as room
    from meshwright.actions.sources import format_size
    from meshwright.cli import output
    from meshwright.cli.plans import design_runs
    from meshwright.cli.progress_bar import ProgressBar
    from meshwright.formatting import counted

    names = design_runs.split_names(policies, "--policies", "naive,shadow,tidy")
    for name in names:
        room.Policy(name)
    overlay, filters = design_runs.load_overlay(plan, source, file_columns(node, topic, delimiter, no_header))
    with ProgressBar("chaos", forced=progress) as drawing:
        found = room.chaos(
            overlay,
            most=most,
            samples=samples,
            policies=names,
            seed=seed,
            progress=lambda _, share, phase: drawing(len(overlay), share, phase),
        )
    if json:
        output.answer_json({"plan": str(plan), "scenarios": [asdict(scenario) for scenario in found]})
    else:
        output.answer(
            f"{format_size(overlay.interest)}, {counted(len(overlay), 'link')}",
            *design_runs.group_lines(filters),
            _table(found, names),
            *_summary(found),
        )


def _table(found: "list[Scenario]", policies: list[str]) -> "Table":
    from meshwright.report.tables import plain_table

    headings = ["at\nonce", "\ntried", "splits\na topic", "topics\nsplit", "at\nmost", "cut\noff", "at\nmost"]
    table = plain_table("\nwho fails", [*headings, *(f"links,\n{name}" for name in policies)])
    for each in found:
        table.add_row(
            each.kind,
            f"{each.nodes}",
            f"{each.tried:,}",
            f"{each.splitting:,}",
            f"{each.mean_topics:.2f}",
            f"{each.most_topics:,}",
            f"{each.mean_cut_off:.2f}",
            f"{each.most_cut_off:,}",
            *(f"{each.repairs[name].links:.1f}" if name in each.repairs else "–" for name in policies),
        )
    return table


def _summary(found: "list[Scenario]") -> list[str]:
    """Return a sentence that sums up the first row."""
    from meshwright.formatting import counted

    single = found[0]
    if not single.splitting:
        return ["No failure of a single broker splits a topic."]
    return [
        f"{single.splitting:,} of {single.tried:,} brokers split a topic when they fail; the worst is "
        f"{single.worst[0]!r}, which cuts {counted(single.most_cut_off, 'subscriber')} off."
    ]
