"""Commands from a plan to running brokers: `route`, `export`, `lint`, `diff`, `apply` and `federation`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from meshwright.actions.apply import SHOWN_DRIFT, ChangeChoice, plan_apply, stop_change
from meshwright.actions.export import BrokerChoice
from meshwright.actions.federation import FederationChoice
from meshwright.cli import output
from meshwright.cli.exit_codes import ANSWER_IS_NO
from meshwright.cli.main import Json, Words
from meshwright.cli.options import (
    BROKER_WORDS,
    AllowRelays,
    Columns,
    InventoryFile,
    Secret,
    Source,
)
from meshwright.cli.output import Answer, ProgressBar, amounts
from meshwright.errors import InputError
from meshwright.progress import announce_phase

ROUTE_EXAMPLES = (
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
    columns: Columns,
) -> Answer:
    """Choose a tree for each topic, inside the overlay, and store the trees in the plan.

    A tree contains exactly the topic's subscribers. The tree of a group of MQTT filters contains the brokers
    that hold one of them; among trees of the same depth, it is one with few relayed deliveries. Where a
    partial plan leaves subscribers apart, relays are added, as few as an approximate Steiner tree needs. With
    --rates, brokers that publish on a topic without subscribing to it are attached by one-way links. The exit
    code is 1 if a topic cannot be spanned.
    """
    from meshwright.actions.route import route as choose

    read = columns
    with ProgressBar() as bar:
        announce_phase(bar, f"routing {plan}")
        routing = choose(plan, source, objective=objective, rates=rates, today=today, columns=read)
    return Answer(routing)


EXPORT_EXAMPLES = (
    "meshwright export plan --to mosquitto --inventory brokers.csv --out federation",
    "meshwright export plan --to mosquitto --inventory brokers.csv --fragment --out bridges",
    "meshwright export plan --to graphml --out graph",
)


ExportOptions: TypeAlias = Annotated[
    BrokerChoice,
    Words(
        **BROKER_WORDS,
        profile=("plain|durable", "durable: messages queue while a link or broker is down."),
        version=(
            "2.0|2.1",
            "The oldest Mosquitto that reads the files; 2.0 by default.",
            {"flag": "--mosquitto", "show_default": False},
        ),
        fragment="For brokers that are already configured: one file with bridges only, for include_dir.",
    ),
]


def export(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="A plan's folder; mosquitto needs its trees.")],
    *,
    to: Annotated[
        str, typer.Option("--to", metavar="KIND", help="mosquitto, graphml, json, dot or networkx.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write to.")],
    choice: ExportOptions,
) -> Answer:
    """Write a plan as the configuration of Mosquitto brokers, one folder for each, or for other programs.

    Every link becomes one bridge, which one of its ends dials. In each direction it carries exactly the
    topics and filters that are wanted behind it. Mosquitto needs the trees that `meshwright route` adds to
    the plan.

    In the folder of an existing federation, only our own files change, brokers keep their addresses, and the
    output says which brokers to restart, in which order. A change that needs other files in between is
    refused: `meshwright apply` makes it in waves.
    """
    from meshwright.actions.export import export as write

    made = write(plan, to, out, choice)
    return Answer(made)


LINT_EXAMPLES = (
    "meshwright lint /etc/mosquitto/mosquitto.conf",
    "meshwright lint berlin.conf oslo.conf malmo/ --json",
    "meshwright lint federation --dataset today",
)


def lint(
    configurations: Annotated[
        list[Path],
        typer.Argument(metavar="CONF…", help="Configurations of Mosquitto, or folders with some."),
    ],
    *,
    inventory: InventoryFile = None,
    dataset: Annotated[
        Path | None,
        typer.Option(
            "--dataset", metavar="DIR", help="Write what the bridges carry as a dataset, to plan from it."
        ),
    ] = None,
) -> Answer:
    """Read existing Mosquitto configurations and report loops, duplicates, dead bridges and open listeners.

    Bridges are followed by address and port to the other configurations; a folder that meshwright exported
    knows the addresses of its brokers. Every finding names file, line and a way to fix it. The exit code is
    1 if messages can circle or arrive twice.
    """
    from meshwright.actions.lint import lint as inspect

    result = inspect(configurations, inventory=inventory, dataset=dataset)
    return Answer(result)


DIFF_EXAMPLES = (
    "meshwright diff plan new-plan",
    "meshwright diff federation new-plan --mosquitto 2.1",
    "meshwright diff federation plan --drift",
    "meshwright diff plan new-plan --markdown",
)

APPLY_EXAMPLES = (
    "meshwright apply new-plan federation --inventory brokers.csv --dry-run",
    "meshwright apply new-plan federation --inventory brokers.csv",
    "meshwright apply new-plan federation --wave next",
)


def diff(
    old: Annotated[str, typer.Argument(metavar="OLD", help="A plan with trees, or a federation's folder.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="A plan with trees.")],
    *,
    version: Annotated[
        str | None,
        typer.Option(
            "--mosquitto",
            metavar="2.0|2.1",
            help="The oldest Mosquitto in use; by default that of OLD if it is a federation, else 2.0.",
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="plain|durable",
            help="The profile of bridges; by default that of OLD if it is a federation, else plain.",
        ),
    ] = None,
    secret: Secret = None,
    drift: Annotated[
        bool,
        typer.Option(
            "--drift",
            help="List what was changed by hand in OLD, a federation's folder; exit code 1 if anything was.",
        ),
    ] = False,
    allow_relays: AllowRelays = False,
    markdown: Annotated[
        bool,
        typer.Option(
            "--markdown/--no-markdown",
            help="Print Markdown, for the review of a change; by default only with a project file.",
        ),
    ] = False,
) -> Answer:
    """Show what changes between two plans: on which broker, in which order, by restart or reload.

    For each topic, removals happen before additions. A broker that joins dials its neighbours. Mosquitto 2.0
    loads changed bridges when the dialling broker restarts, 2.1 when it reloads. The files of a federation
    are compared with what was written; the repair of what was changed by hand comes first.
    """
    from meshwright.actions.diff import diff as compare

    found = compare(
        old, new, profile=profile, version=version, secret=secret, allow_relays=allow_relays, drift=drift
    )
    if markdown and not drift:
        return Answer(found, *found.markdown.splitlines())
    shown = found.drift if drift else found.drift[:SHOWN_DRIFT]
    left = len(found.drift) - len(shown)
    more = [f"… and {left} more: see --drift"] if left else []
    lines = [*(f"drift: {each}" for each in shown), *more, *found.lines]
    return Answer(found, *lines, passed=not (drift and found.drift))


ChangeOptions: TypeAlias = Annotated[
    ChangeChoice,
    Words(
        **BROKER_WORDS,
        profile=("plain|durable", "Change the profile; every broker restarts."),
        version=("2.0|2.1", "Change the version; every broker restarts.", {"flag": "--mosquitto"}),
        wave=(
            "N|next",
            "Write only the files of this wave, and say what to restart or reload; go on with next.",
        ),
        staged=("DIR", "Write the files of every wave to this folder; change nothing else."),
        dry_run="Explain the changes, and change nothing.",
        stop="Stop the change of running brokers that is going on, after its current wave.",
    ),
]


def apply(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="The new plan, with trees.")],
    federation: Annotated[
        Path,
        typer.Argument(metavar="FEDERATION", help="The folder that export, or federation --keep, wrote."),
    ],
    *,
    choice: ChangeOptions,
    yes: Annotated[bool, typer.Option("--yes", help="Change running brokers without asking.")] = False,
    json: Json = False,
) -> Answer:
    """Explain what a new plan changes, then update a federation's folders, and its brokers if they run here.

    If `meshwright federation --keep` runs brokers from this folder, they are started, restarted and stopped
    together, after you agree or with --yes; then the answer says for how long which topics were cut. Ctrl-C
    ends this command only: the change goes on, the same command waits for it, and --stop stops it after its
    current wave. Otherwise only the folders change, and you perform the steps. With --wave, the files of one
    wave are written at a time, and the folder remembers how far you are. Applying a plan twice changes
    nothing.
    """
    if choice.stop:
        return Answer(stop_change(federation))
    with plan_apply(plan, federation, choice) as change:
        output.notes(change.notes)
        if change.disturbs and not yes:
            _ask_first(federation, change.explain(), json=json)
        applied = change.perform()
    return Answer(applied)


def _ask_first(federation: Path, changes: Sequence[str], *, json: bool) -> None:
    """Show the changes of running brokers and ask; without a terminal, require --yes."""
    if json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(
            f"the brokers of {federation} are running and would change: add --yes, or see --dry-run first"
        )
    for line in changes:
        output.note(line)
    if not typer.confirm(f"Change the running brokers of {federation}?", err=True):
        output.note("nothing was changed")
        raise typer.Exit(ANSWER_IS_NO)


FEDERATION_EXAMPLES = (
    "meshwright federation plan",
    "meshwright federation plan --storm --picture federation.png",
    "meshwright federation --brokers 12 --churn 6",
)

FederationOptions: TypeAlias = Annotated[
    FederationChoice,
    Words(
        brokers=(
            "N",
            "Start at most N brokers, 200 by default; without a plan, the size of the synthetic one.",
            {"min": 1},
        ),
        storm="Also show, for two seconds, what happens without trees.",
        churn=("N", "Let brokers join, leave and crash N times under traffic.", {"min": 1}),
        rate=("R", "With --churn: messages a second in total.", {"min": 1}),
        ingest=(
            None,
            "With --churn: read the brokers' logs with Spark and compare the interest.",
            {"flag": "--ingest/--no-ingest"},
        ),
        picture=("FILE", "Draw the federation: .png, .svg or .pdf."),
        out=("DIR", "Keep the brokers' folders and logs here."),
        keep="Run until Ctrl-C, and take changes by meshwright apply; needs --out.",
        profile=(
            "plain|durable",
            "durable: messages queue while a link or broker is down; the default with --churn.",
        ),
        version=(
            "2.0|2.1",
            "Change bridges as this version does: by restart or reload. Default: the installed version.",
            {"flag": "--mosquitto"},
        ),
        secret=("FILE", "Add passwords and access lists, derived from this file's content."),
        tls="Use TLS, with a certificate authority for this run; needs openssl.",
        allow_relays="Let brokers carry topics that they do not subscribe to.",
        seed=("N", "The same seed gives the same result.", {"min": 0}),
    ),
]


def federation(
    plan: Annotated[
        Path | None,
        typer.Argument(metavar="PLAN", help="A plan's folder with trees; by default a synthetic plan."),
    ] = None,
    *,
    choice: FederationOptions,
) -> Answer:
    """Start real Mosquitto brokers on loopback from a plan, publish everywhere, and count.

    Every broker publishes on each of its topics, and all messages at all brokers are observed. For a group of
    MQTT filters, every broker of its tree publishes on topics drawn from each filter and from what two
    filters share. Missing, duplicate and leaked messages must all be 0, and messages relayed as predicted;
    otherwise the exit code is 1. All brokers are stopped at the end, even after an error.
    """
    from meshwright.actions.federation import federation as prove

    before = signal.getsignal(signal.SIGTERM)
    if choice.keep:
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # the normal end of brokers that are kept
    try:
        with ProgressBar(wording=amounts()) as bar:
            outcome = prove(replace(choice, plan=plan), progress=bar, say=output.note)
    finally:
        signal.signal(signal.SIGTERM, before)
    written = [] if choice.out is None else [f"folders and logs are in {choice.out}"]
    return Answer(outcome, *outcome.lines, *written)
