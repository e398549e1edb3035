"""`meshwright federation`: run real brokers on this machine, and prove a plan by traffic."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.deploy.federation_run import FederationRun, Outcome, format_verdict
from meshwright.cli.deploy.options import AllowRelays, Overlaps, Secret, read_settings
from meshwright.cli.options import Json, Seed, ShowProgress

if TYPE_CHECKING:
    from meshwright.deploy import Wiring
    from meshwright.deploy.federation.plan import FederationPlan
    from meshwright.deploy.federation.run import RunningFederation
    from meshwright.deploy.federation.storm import Storm
    from meshwright.deploy.federation.verdict import Verdict

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
    overlaps: Overlaps = "refuse",
    allow_relays: AllowRelays = False,
    seed: Seed = 0,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Start real Mosquitto brokers on loopback from a plan, publish everywhere, and count.

    Every broker publishes on each of its topics, and all messages at all brokers are observed. Missing,
    duplicate and leaked messages must all be 0; otherwise the exit code is 1. All brokers are stopped at the
    end, even after an error.
    """
    import tempfile
    from dataclasses import replace

    from meshwright.brokers.program import installed_version
    from meshwright.cli import output
    from meshwright.cli.output import ANSWER_IS_NO, check_target
    from meshwright.cli.spark import StageDrawing
    from meshwright.deploy.federation.supervisor import require_stopped
    from meshwright.errors import InputError
    from meshwright.report.sheet import check_chart

    installed = installed_version()
    if mosquitto == "2.1" != installed:
        raise InputError("the installed mosquitto is older than 2.1: omit --mosquitto, or install 2.1")
    if churn is None and (not ingest or rate != RATE):
        raise InputError("--rate and --no-ingest need --churn: add it, or omit them")
    if churn is not None and (storm or secret is not None):
        raise InputError("--churn cannot be used with --storm or --secret: omit them")
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
    trees = planned.trees.deployable(overlaps=overlaps, allow_relays=allow_relays)
    if len(trees.brokers) > (brokers or MOST_BROKERS):
        raise InputError(
            f"the plan has {len(trees.brokers)} brokers, more than {brokers or MOST_BROKERS}: "
            f"allow that with --brokers {len(trees.brokers)}, or sample its dataset"
        )
    with tempfile.TemporaryDirectory(prefix="meshwright-") as temporary, StageDrawing(forced=progress) as bar:
        run = FederationRun(
            replace(planned, trees=trees),
            read_settings(
                profile or ("plain" if churn is None else "durable"), mosquitto or installed, secret
            ),
            Path(temporary) / "federation" if out is None else out,
            Path(temporary),
            bar,
        )
        if churn is None:
            outcome = _prove(run, storm=storm, picture=picture, keep=keep)
        else:
            from meshwright.cli.deploy.federation_churn import run_churn

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
    from meshwright.deploy.federation.plan import read_federation_plan, synthetic_plan
    from meshwright.errors import InputError

    if plan is not None:
        return read_federation_plan(plan)
    if brokers is None:
        raise InputError("no plan: give one, or give --brokers for a synthetic plan of that size")
    return synthetic_plan(brokers, loops=loops, seed=seed)


def _prove(run: FederationRun, *, storm: bool, picture: Path | None, keep: bool) -> Outcome:
    """Run the brokers, publish everywhere and judge; then storm and draw if asked."""
    from meshwright.deploy.federation.run import publish_everywhere, run_federation
    from meshwright.deploy.federation.storm import storm as run_storm

    trees = run.plan.trees
    with run_federation(trees, run.folder, run.settings, progress=run.progress) as running:
        verdict = publish_everywhere(trees, running, progress=run.progress)
        if keep:
            _keep_running(running, verdict)
    wiring = running.wiring
    figures = {
        "brokers": len(wiring.order),
        "bridges": len(wiring.bridges),
        "topic_lines": wiring.topic_lines,
        "up_seconds": running.seconds,
        **verdict.figures(),
    }
    lines = [
        f"{len(wiring.order):,} brokers, {len(wiring.bridges):,} bridges, "
        f"{wiring.topic_lines:,} topic lines: all up after {running.seconds:.1f} s",
        *format_verdict(verdict),
    ]
    if storm:
        seen = run_storm(trees, run.plan.links, run.temporary / "storm")
        figures["storm"] = None if seen is None else {**vars(seen), "factor": seen.factor}
        lines.append(_format_storm(seen))
    if picture is not None:
        _draw(wiring, verdict, picture, title=lines[1])
        figures["picture"] = str(picture)
        lines.append(f"picture {picture}")
    return Outcome(figures, lines, verdict.passed)


def _draw(wiring: "Wiring", verdict: "Verdict", picture: Path, *, title: str) -> None:
    """Draw the federation, with the brokers at fault marked."""
    from meshwright.report.charts import federation_picture

    faults = (*verdict.missing, *verdict.duplicate, *verdict.leaked)
    counts = {pair: len(topics) for pair, topics in wiring.bridges.items()}
    faulty = {broker for _, _, broker in faults}
    federation_picture(wiring.order, counts, picture, faulty=faulty, title=title)


def _keep_running(running: "RunningFederation", verdict: "Verdict") -> None:
    """Keep the brokers running until Ctrl-C, which is the normal end and not a failure."""
    from meshwright.cli import output
    from meshwright.deploy.federation.supervisor import supervise

    output.note(f"{format_verdict(verdict)[0]}; running in {running.brokers.folder} until Ctrl-C")
    try:
        supervise(running, until=lambda: False, report=lambda line: output.note(f"applied: {line}"))
    except KeyboardInterrupt:
        output.note("stopping all brokers")


def _format_storm(seen: "Storm | None") -> str:
    """Return a line about a storm, or about why there was none."""
    if seen is None:
        return "without trees: the links of no topic have a loop, so there is no storm"
    return (
        f"without trees: one message on {seen.topic!r} made {seen.deliveries:,} deliveries in 2 s where "
        f"{seen.expected:,} are due: {seen.factor:,.0f} times as many"
    )
