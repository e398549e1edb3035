"""`meshwright federation`: run real brokers on this machine, and prove a plan by traffic."""

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.options import AllowRelays, Json, Secret, Seed, ShowProgress

EXAMPLES = (
    "meshwright federation plan",
    "meshwright federation plan --storm --picture federation.png",
    "meshwright federation --brokers 12 --churn 6",
)

RATE = 200.0


def federation(
    plan: Annotated[
        Path | None,
        typer.Argument(metavar="PLAN", help="A plan's folder with trees; by default a synthetic plan."),
    ] = None,
    *,
    brokers: Annotated[
        int | None,
        typer.Option(
            "--brokers",
            metavar="N",
            min=1,
            help="Start at most N brokers, 200 by default; without a plan, the size of the synthetic one.",
        ),
    ] = None,
    storm: Annotated[
        bool, typer.Option("--storm", help="Also show, for two seconds, what happens without trees.")
    ] = False,
    churn: Annotated[
        int | None,
        typer.Option(
            "--churn", metavar="N", min=1, help="Let brokers join, leave and crash N times under traffic."
        ),
    ] = None,
    rate: Annotated[
        float, typer.Option("--rate", metavar="R", min=1, help="With --churn: messages a second in total.")
    ] = RATE,
    ingest: Annotated[
        bool,
        typer.Option(
            "--ingest/--no-ingest",
            help="With --churn: read the brokers' logs with Spark and compare the interest.",
        ),
    ] = True,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Draw the federation: .png, .svg or .pdf."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Keep the brokers' folders and logs here.")
    ] = None,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Run until Ctrl-C, and take changes by meshwright apply; needs --out."),
    ] = False,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="plain|durable",
            help="durable: messages queue while a link or broker is down; the default with --churn.",
        ),
    ] = None,
    mosquitto: Annotated[
        str | None,
        typer.Option(
            "--mosquitto",
            metavar="2.0|2.1",
            help="Change bridges as this version does: by restart or reload. Default: the installed version.",
        ),
    ] = None,
    secret: Secret = None,
    tls: Annotated[
        bool, typer.Option("--tls", help="Use TLS, with a certificate authority for this run; needs openssl.")
    ] = False,
    allow_relays: AllowRelays = False,
    seed: Seed = 0,
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

    from meshwright.actions.federation import FederationChoice
    from meshwright.actions.federation import federation as prove
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO
    from meshwright.cli.progress_bar import ProgressBar, amounts

    choice = FederationChoice(
        plan, brokers, storm, churn, rate, ingest, picture, out, keep, profile, mosquitto, secret, tls,
        allow_relays, seed,
    )  # fmt: skip
    before = signal.getsignal(signal.SIGTERM)
    if keep:
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # the normal end of brokers that are kept
    try:
        with ProgressBar(forced=progress, wording=amounts()) as bar:
            outcome = prove(choice, progress=bar, say=output.note)
    finally:
        signal.signal(signal.SIGTERM, before)
    if json:
        output.answer_json(outcome.to_dict())
    else:
        output.answer(*outcome.lines, *([] if out is None else [f"folders and logs are in {out}"]))
    if not outcome.passed:
        raise typer.Exit(ANSWER_IS_NO)
