"""Commands in which brokers come, go and fail, and the overlay is repaired: `churn` and `chaos`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from meshwright.actions.churn import ChurnEvents, PolicyOptions, replay_churn
from meshwright.actions.sources import format_size
from meshwright.cli.main import Words
from meshwright.cli.options import Columns, Seed, Source
from meshwright.cli.output import Answer, ProgressBar
from meshwright.formatting import counted

if TYPE_CHECKING:
    from rich.table import Table

    from meshwright.actions.chaos import Failures


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


LEAST_ONE: dict[str, Any] = {"min": 1}

EventOptions: TypeAlias = Annotated[
    ChurnEvents,
    Words(
        rounds=("N", "Rounds of random churn; 1000 by default.", LEAST_ONE),
        trace=("FILE", "Replay these events (JSON lines, or a folder of them)."),
        burst=("N", "Number of brokers that join or crash at once.", LEAST_ONE),
        scratch_every=(
            "N",
            "Compare with Low-ODA from scratch every N rounds: 1 is each, 0 the last only; ten times in "
            "all by default, as it is slow.",
            {"min": 0},
        ),
    ),
]
RepairOptions: TypeAlias = Annotated[
    PolicyOptions,
    Words(
        backups=("NAME", "How backups are chosen: primal-dual or greedy."),
        coverage=("N", "How often backups cover each topic: λ.", LEAST_ONE),
        rho=("R", "1 favours few links, more a low maximum degree."),
        letter="Follow the paper exactly; slower, see 'Overlays under churn'.",
    ),
]


def churn(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="A plan's folder, every topic connected.")],
    source: Source,
    *,
    policy: Annotated[
        str, typer.Option("--policy", metavar="NAME", help="naive, shadow, tidy or rebuild.")
    ] = "shadow",
    compare: Annotated[
        str | None,
        typer.Option("--compare", metavar="A,B,C", help="Run the same churn under several policies."),
    ] = None,
    events: EventOptions,
    parameters: RepairOptions,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder for rounds, final dataset and plan, and a chart."),
    ] = None,
    columns: Columns,
    seed: Seed = 0,
) -> Answer:
    """Let brokers join and leave, repair the overlay each time, and report the cost of repair.

    The churn is random (joins and leaves are equally likely, new brokers resemble existing ones) or read from
    a trace. The table also shows Low-ODA from scratch. Below it is what the paper plots: repair ratios, the
    time of the greedy step, shadow sets, backups and primaries, and the gap to Low-ODA from scratch.

    A plan of MQTT filters changes as it was planned: by groups of filters that overlap. Random newcomers hold
    groups. A trace names filters, and one that joins several groups is refused. --out has groups as topics.

    --letter chooses backups among all brokers, chooses all backups of a broker again when it loses one, takes
    the maximum degree of the whole overlay in the rule, and makes newcomers nobody's backups.
    """
    from meshwright.actions.compare import split_names
    from meshwright.report import churn_lines, churn_table

    names = [policy] if compare is None else split_names(compare, "--compare", "naive,shadow,tidy,rebuild")
    with ProgressBar() as bar:
        made = replay_churn(
            plan,
            source,
            columns,
            options=replace(parameters, names=tuple(names), compared=compare is not None),
            events=events,
            out=out,
            seed=seed,
            progress=bar,
        )
    replays = made.replays.values()
    written = [] if out is None else [f"written to {out}"]
    return Answer(made, made.title, *made.plan.lines, churn_table(replays), *churn_lines(replays), *written)


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
    columns: Columns,
    seed: Seed = 0,
) -> Answer:
    """Let brokers fail, alone and together, and report what breaks and what repair costs.

    It tries each broker alone, random sets, the brokers with the most links, and those whose failure cuts off
    the most subscribers. Topics of a plan of MQTT filters are groups of filters that overlap.
    """
    from meshwright.actions.chaos import fail_brokers
    from meshwright.actions.compare import split_names

    names = split_names(policies, "--policies", "naive,shadow,tidy")
    with ProgressBar("chaos") as bar:
        made = fail_brokers(
            plan,
            source,
            columns,
            most=most,
            samples=samples,
            policies=names,
            seed=seed,
            progress=bar,
        )
    overlay = made.plan.overlay
    size = f"{format_size(overlay.interest)}, {counted(len(overlay), 'link')}"
    return Answer(made, size, *made.plan.lines, _failure_table(made, names), *_failure_lines(made))


def _failure_table(made: Failures, policies: list[str]) -> Table:
    from meshwright.report.tables import plain_table

    headings = ["at\nonce", "\ntried", "splits\na topic", "topics\nsplit", "at\nmost", "cut\noff", "at\nmost"]
    table = plain_table("\nwho fails", [*headings, *(f"links,\n{name}" for name in policies)])
    for each in made.scenarios:
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


def _failure_lines(made: Failures) -> list[str]:
    """Return a sentence that sums up the first row."""
    single = made.scenarios[0]
    if not single.splitting:
        return ["No failure of a single broker splits a topic."]
    return [
        f"{single.splitting:,} of {single.tried:,} brokers split a topic when they fail; the worst is "
        f"{single.worst[0]!r}, which cuts {counted(single.most_cut_off, 'subscriber')} off."
    ]
