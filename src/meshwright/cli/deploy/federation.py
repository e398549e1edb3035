"""`meshwright federation`: real brokers on this machine, and the proof by traffic."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meshwright.cli.deploy.export import AllowRelays, Overlaps, Secret, settings_of
from meshwright.cli.options import Json, Seed, ShowProgress

if TYPE_CHECKING:
    import pyarrow as pa

    from meshwright.deploy import Routed, Settings
    from meshwright.deploy.federation.run import Running
    from meshwright.deploy.federation.storm import Storm
    from meshwright.deploy.federation.verdict import Verdict

EXAMPLES = (
    "meshwright federation plan",
    "meshwright federation plan --storm --picture federation.png",
    "meshwright federation --brokers 12 --churn 6",
)

MOST = 200
"""Brokers that are started unless more are allowed: each is a process."""


def federation(
    plan: Annotated[
        Path | None,
        typer.Argument(metavar="PLAN", help="A plan's folder with trees; without, one is made up."),
    ] = None,
    *,
    brokers: Annotated[
        int | None,
        typer.Option(
            "--brokers",
            metavar="N",
            min=1,
            help="Start no more brokers than this, 200 unless told; without a plan, make up so many.",
        ),
    ] = None,
    storm: Annotated[
        bool, typer.Option("--storm", help="Show too, for two seconds, what happens without trees.")
    ] = False,
    churn: Annotated[
        int | None,
        typer.Option(
            "--churn", metavar="N", min=1, help="Let so many brokers join, leave and crash under traffic."
        ),
    ] = None,
    rate: Annotated[
        float, typer.Option("--rate", metavar="R", min=1, help="With --churn: messages a second, in all.")
    ] = 200.0,
    ingest: Annotated[
        bool,
        typer.Option(
            "--ingest/--no-ingest",
            help="With --churn: read the brokers' logs by Spark and compare the interest.",
        ),
    ] = True,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Draw the federation: .png, .svg or .pdf."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Leave the brokers' folders and logs here.")
    ] = None,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Go on until Ctrl-C, and change as meshwright apply asks; needs --out."),
    ] = False,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="plain|durable",
            help="durable: messages wait while a link or broker is away; with --churn this unless told.",
        ),
    ] = None,
    mosquitto: Annotated[
        str | None,
        typer.Option(
            "--mosquitto",
            metavar="2.0|2.1",
            help="Change bridges as this version does, by restart or by reload; else as the installed one.",
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

    Every broker publishes on every topic it holds, and whatever any broker carries is observed: missing,
    duplicate and leaked messages must all be 0, else the exit code is 1. All brokers are stopped at the end,
    whatever happens.
    """
    import tempfile

    from meshwright.brokers.program import installed_version
    from meshwright.cli import output
    from meshwright.cli.output import ANSWER_IS_NO, check_target
    from meshwright.cli.spark import StageDrawing
    from meshwright.deploy.federation.supervisor import check_free
    from meshwright.errors import InputError
    from meshwright.report.sheet import check_chart

    installed = installed_version()
    if mosquitto == "2.1" != installed:
        raise InputError("the installed mosquitto is older than 2.1: leave --mosquitto out, or install 2.1")
    if churn is None and (not ingest or rate != 200.0):
        raise InputError("--rate and --no-ingest are about --churn: leave them out, or ask for it")
    if churn is not None and (storm or secret is not None):
        raise InputError("--churn does not go with --storm or --secret: leave them out")
    if keep and (out is None or churn is not None):
        raise InputError("--keep needs --out, for meshwright apply to find it, and does not go with --churn")
    if picture is not None:
        check_chart(picture)
    if out is not None:
        check_target(out, "federation")
        check_free(out)
    routed, links, trees = _planned(plan, brokers, seed, loops=storm)
    routed = routed.checked(overlaps=overlaps, relays=allow_relays)
    if len(routed.brokers) > (brokers or MOST):
        raise InputError(
            f"the plan has {len(routed.brokers)} brokers, more than {brokers or MOST}: "
            f"allow that with --brokers {len(routed.brokers)}, or sample its dataset"
        )
    with tempfile.TemporaryDirectory(prefix="meshwright-") as place, StageDrawing(forced=progress) as drawing:
        folder = Path(place) / "federation" if out is None else out

        def report(phase: str, done: int, tasks: int) -> None:
            drawing(done, done / tasks, phase)

        usual = "plain" if churn is None else "durable"
        settings = settings_of(profile or usual, mosquitto or installed, secret)
        if churn is None:
            told, lines, passed = _checked(
                routed, links, folder, Path(place), storm, settings, picture, report, keep=keep
            )
        else:
            from meshwright.cli.deploy.federation_churn import churned

            told, lines, passed = churned(
                routed, links, trees, churn, folder, Path(place), rate, seed, ingest, settings,
                report, shown=progress,
            )  # fmt: skip
    if json:
        output.answer_json({"plan": plan and str(plan), "passed": passed, **told, "out": out and str(out)})
    else:
        output.answer(*lines, *([] if out is None else [f"folders and logs are in {out}"]))
    if not passed:
        raise typer.Exit(ANSWER_IS_NO)


def _planned(
    plan: Path | None, brokers: int | None, seed: int, *, loops: bool
) -> "tuple[Routed, list[tuple[str, str]], pa.Table]":
    """Return ways, links and trees: of a plan, or of a made-up federation."""
    from meshwright.deploy import Routed
    from meshwright.deploy.federation.made_up import made_up
    from meshwright.errors import InputError
    from meshwright.store import read_trees

    if plan is not None:
        stored = read_trees(plan)
        edges = stored.plan.edges
        pairs = zip(edges.column("u").to_pylist(), edges.column("v").to_pylist(), strict=True)
        return Routed.of(stored), list(pairs), stored.trees
    if brokers is None:
        raise InputError("no plan: give one, or --brokers to make up a federation of so many")
    return made_up(brokers, loops=loops, seed=seed)


def _checked(
    routed: "Routed",
    links: list[tuple[str, str]],
    folder: Path,
    place: Path,
    storm: bool,
    settings: "Settings",
    picture: Path | None,
    report: Any,
    *,
    keep: bool,
) -> tuple[dict[str, Any], list[str], bool]:
    from meshwright.deploy.federation.run import publish_everywhere, running
    from meshwright.deploy.federation.storm import storm as unleash

    with running(routed, folder, settings, progress=report) as here:
        found = publish_everywhere(routed, here, progress=report)
        if keep:
            _kept(here, found)
    wiring = here.wiring
    seen = unleash(routed, links, place / "storm") if storm else None
    told = {
        "brokers": len(wiring.order),
        "bridges": len(wiring.bridges),
        "topic_lines": wiring.lines,
        "up_seconds": here.seconds,
        **found.described(),
    }
    if storm:
        told["storm"] = None if seen is None else {**vars(seen), "factor": seen.factor}
    lines = [
        f"{len(wiring.order):,} brokers, {len(wiring.bridges):,} bridges, {wiring.lines:,} topic lines: "
        f"all up after {here.seconds:.1f} s",
        *told_verdict(found),
        *(_told_storm(seen) if storm else []),
    ]
    if picture is not None:
        from meshwright.report.federation_picture import federation_picture

        wrong = {event[2] for events in (found.missing, found.duplicate, found.leaked) for event in events}
        counts = {pair: len(topics) for pair, topics in wiring.bridges.items()}
        federation_picture(wiring.order, counts, picture, wrong=wrong, title=lines[1])
        lines.append(f"picture {picture}")
        told["picture"] = str(picture)
    return told, lines, found.passed


def _kept(here: "Running", found: "Verdict") -> None:
    """Go on until Ctrl-C, which is how one ends this and no failure."""
    from meshwright.cli import output
    from meshwright.deploy.federation.supervisor import keep

    output.note(f"{told_verdict(found)[0]}; running in {here.brokers.folder} until Ctrl-C")
    try:
        keep(here, until=lambda: False, tell=lambda line: output.note(f"applied: {line}"))
    except KeyboardInterrupt:
        output.note("stopping all brokers")


def told_verdict(found: "Verdict") -> list[str]:
    """Spell a verdict: the counts, the first of what is wrong, and latency by hops."""
    from meshwright.formatting import duration

    lines = [
        f"{found.published:,} messages, {found.expected:,} deliveries due: {len(found.missing):,} missing, "
        f"{len(found.duplicate):,} duplicate, {len(found.leaked):,} leaked"
    ]
    for what in ("missing", "duplicate", "leaked"):
        for topic, origin, broker in getattr(found, what)[:5]:
            lines.append(f"  {what}: {topic!r} published at {origin!r}, at {broker!r}")
    for hops, (count, mean, usual) in found.latency.items():
        way = f"{hops} hop{'' if hops == 1 else 's'}"
        took = f"{duration(mean)} on average, {duration(usual)} for 95 %"
        lines.append(f"  {way}: {took} ({count:,} deliveries)")
    return lines


def _told_storm(seen: "Storm | None") -> list[str]:
    if seen is None:
        return ["without trees: no topic's links have a loop, so nothing storms"]
    return [
        f"without trees: one message on {seen.topic!r} made {seen.deliveries:,} deliveries in 2 s where "
        f"{seen.expected:,} are due: {seen.factor:,.0f} times as many"
    ]
