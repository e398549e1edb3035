"""`meshwright federation`: run real brokers on this machine, and prove a plan by traffic."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from meshwright.actions.federation import FederationChoice
from meshwright.cli.commands import Words
from meshwright.cli.options import Json, ShowProgress

EXAMPLES = (
    "meshwright federation plan",
    "meshwright federation plan --storm --picture federation.png",
    "meshwright federation --brokers 12 --churn 6",
)

Choice: TypeAlias = Annotated[
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
    choice: Choice,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Start real Mosquitto brokers on loopback from a plan, publish everywhere, and count.

    Every broker publishes on each of its topics, and all messages at all brokers are observed. For a group of
    MQTT filters, every broker of its tree publishes on topics drawn from each filter and from what two
    filters share. Missing, duplicate and leaked messages must all be 0, and messages relayed as predicted;
    otherwise the exit code is 1. All brokers are stopped at the end, even after an error.
    """
    import signal

    from meshwright.actions.federation import federation as prove
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO
    from meshwright.cli.progress_bar import ProgressBar, amounts

    before = signal.getsignal(signal.SIGTERM)
    if choice.keep:
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # the normal end of brokers that are kept
    try:
        with ProgressBar(forced=progress, wording=amounts()) as bar:
            outcome = prove(replace(choice, plan=plan), progress=bar, say=output.note)
    finally:
        signal.signal(signal.SIGTERM, before)
    written = [] if choice.out is None else [f"folders and logs are in {choice.out}"]
    output.show(outcome, *outcome.lines, *written, json=json)
    if not outcome.passed:
        raise typer.Exit(ANSWER_IS_NO)
