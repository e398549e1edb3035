"""`meshwright federation`: run real brokers on this machine, and prove a plan by traffic."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.deploy.federation_run import FederationRun, run_churn, run_proof
from meshwright.cli.options import AllowRelays, Json, Secret, Seed, ShowProgress, read_settings

if TYPE_CHECKING:
    from meshwright.deploy.proof.live_plan import FederationPlan

EXAMPLES = (
    "meshwright federation plan",
    "meshwright federation plan --storm --picture federation.png",
    "meshwright federation --brokers 12 --churn 6",
)

MOST_BROKERS = 200
"""Brokers that may be started by default: each is a process."""
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
    import tempfile
    from dataclasses import replace

    from meshwright.actions.outputs import check_target
    from meshwright.brokers.certificates import Authority
    from meshwright.brokers.mosquitto import installed_version
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO
    from meshwright.cli.progress_bar import ProgressBar, amounts
    from meshwright.deploy.hosts.supervisor import require_stopped
    from meshwright.errors import InputError
    from meshwright.report.sheet import check_chart

    installed = installed_version()
    if mosquitto == "2.1" != installed:
        raise InputError("the installed mosquitto is older than 2.1: omit --mosquitto, or install 2.1")
    if churn is None and (not ingest or rate != RATE):
        raise InputError("--rate and --no-ingest need --churn: add it, or omit them")
    if churn is not None and storm:
        raise InputError("--churn cannot be used with --storm: omit one")
    if keep and (out is None or churn is not None):
        raise InputError(
            "--keep needs --out, where meshwright apply finds it, and cannot be used with --churn"
        )
    if picture is not None:
        check_chart(picture)
    if out is not None:
        check_target(out, "federation")
        require_stopped(out)
    planned = _read_or_make_plan(plan, brokers, seed, loops=storm)
    trees = planned.trees.deployable(allow_relays=allow_relays)
    if len(trees.brokers) > (brokers or MOST_BROKERS):
        raise InputError(
            f"the plan has {len(trees.brokers)} brokers, more than {brokers or MOST_BROKERS}: "
            f"allow that with --brokers {len(trees.brokers)}, or sample its dataset"
        )
    bar = ProgressBar(wording=amounts(), forced=progress)
    with tempfile.TemporaryDirectory(prefix="meshwright-") as temporary, bar:
        run = FederationRun(
            replace(planned, trees=trees),
            read_settings(
                profile or ("plain" if churn is None else "durable"), mosquitto or installed, secret
            ),
            Path(temporary) / "federation" if out is None else out,
            Path(temporary),
            bar,
            Authority(Path(temporary) / "authority") if tls else None,
        )
        if churn is None:
            outcome = run_proof(run, storm=storm, picture=picture, keep=keep)
        else:
            outcome = run_churn(run, churn, rate=rate, seed=seed, ingest=ingest)
    if json:
        output.answer_json(
            {
                "plan": plan and str(plan),
                "passed": outcome.passed,
                **outcome.figures,
                "out": out and str(out),
            }
        )
    else:
        output.answer(*outcome.lines, *([] if out is None else [f"folders and logs are in {out}"]))
    if not outcome.passed:
        raise typer.Exit(ANSWER_IS_NO)


def _read_or_make_plan(plan: Path | None, brokers: int | None, seed: int, *, loops: bool) -> "FederationPlan":
    """Return the plan of a folder, or a synthetic one."""
    from meshwright.deploy.proof.live_plan import read_federation_plan, synthetic_plan
    from meshwright.errors import InputError

    if plan is not None:
        return read_federation_plan(plan)
    if brokers is None:
        raise InputError("no plan: give one, or give --brokers for a synthetic plan of that size")
    return synthetic_plan(brokers, loops=loops, seed=seed)
