"""`meshwright demo`: the whole story without data."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meshwright.cli.options import Json, Seed, ShowProgress

if TYPE_CHECKING:
    from meshwright.designs.advice import Advice
    from meshwright.designs.plan import Plan
    from meshwright.interest import Interest
    from meshwright.pipeline.dataset.ingest import Outcome
    from meshwright.verify.claims import PlanReport

STEPS = 20_000
"""Steps of each search: a number of steps, unlike seconds, gives the same plan on every machine."""
REAL_BROKERS = 12
"""Brokers of the federation that are started; each is a process."""

EXAMPLES = ("meshwright demo --out out/demo",)


def demo(
    *,
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="DIR", help="Folder for logs, dataset, plan, configuration and report."
        ),
    ] = Path("meshwright-demo"),
    nodes: Annotated[int, typer.Option("--nodes", metavar="N", help="Number of brokers.")] = 2000,
    topics: Annotated[int, typer.Option("--topics", metavar="N", help="Number of topics.")] = 500,
    seed: Seed = 1,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Tell the whole story on a synthetic federation, from dirty logs to running brokers and a report.

    Each step prints one line with its figure. If Mosquitto is installed, 12 of the brokers are planned alone,
    started, and every message among them is counted. The last line names the page to open in a browser.
    """
    from meshwright.actions.sources import format_size
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO
    from meshwright.cli.plans import design_runs
    from meshwright.cli.plans.report import write_page
    from meshwright.designs.design import design
    from meshwright.face import REPORT
    from meshwright.files.urls import require_local
    from meshwright.formatting import counted
    from meshwright.report import degree_and_support
    from meshwright.report.sheet import check_chart
    from meshwright.store import plan_check
    from meshwright.store.plans import write_plan

    def say(step: str, figure: str) -> None:
        if not json:
            output.answer(f"{step:<14} {figure}")
            sys.stdout.flush()

    require_local(out).mkdir(parents=True, exist_ok=True)
    picture = check_chart(out / "designs.png")
    dataset, folder = out / "dataset", out / "plan"

    outcome, reader = _ingest_raw_logs(nodes, topics, seed, out)
    say("dirty logs", f"{outcome.read:,} rows in {out / 'raw'}")
    say(
        reader,
        f"{outcome.kept:,} rows kept; {outcome.duplicates:,} duplicates, {outcome.superseded:,} superseded, "
        f"{outcome.quarantined:,} quarantined",
    )
    interest = design_runs.load(str(dataset))
    size = format_size(interest)
    say("dataset", size)

    advice, ring = _ask(interest, progress), design(interest, "ring")
    assert advice.plan is not None  # without requirements, every design fits
    plan = advice.plan
    say("advice", _format_advice(plan, ring))
    write_plan(plan, folder)
    say("plan", _format_certificate(plan))
    verdict = plan_check.verify_stored_plan(folder, interest)
    say("verified", _format_verdict(verdict, interest.num_topics))
    trees = _route(plan, folder)
    say(
        "trees",
        f"{counted(trees['trees'], 'tree')}; {trees['mean_hops']:.1f} hops on average, "
        f"{trees['max_hops']} at most",
    )
    configuration = _configure(folder, out / "federation")
    say(
        "configuration",
        f"{counted(configuration['brokers'], 'Mosquitto broker')}, "
        f"{counted(configuration['bridges'], 'bridge')}, "
        f"{counted(configuration['topic_lines'], 'topic line')}",
    )
    proof = _run_brokers(interest, out / "brokers")
    say("real brokers", proof.pop("line"))
    page, _ = write_page(folder, interest, out / REPORT, progress=progress)
    designs = [own.plan for own in advice.tried if own.plan.algorithm != "best"]
    degree_and_support([*designs, ring], picture, title=f"A synthetic federation: {size}")
    say("report", f"{(out / REPORT).stat().st_size / 1e6:.1f} MB with figures, charts, trees and the graph")
    if json:
        output.answer_json(
            {
                "dataset": str(dataset),
                "ingested": outcome.described(),
                "designs": [
                    design_runs.described(each) for each in (*(own.plan for own in advice.tried), ring)
                ],
                "plan": {**design_runs.described(plan), "verified": verdict.passed, "folder": str(folder)},
                "trees": trees,
                "configuration": configuration,
                "real_brokers": proof,
                "picture": str(picture),
                "report": page,
            }
        )
    else:
        output.answer("", f"Open {page}")
    if not verdict.passed or proof["passed"] is False:
        raise typer.Exit(ANSWER_IS_NO)


def _ingest_raw_logs(nodes: int, topics: int, seed: int, out: Path) -> "tuple[Outcome, str]":
    """Write raw, dirty logs of a synthetic federation, and ingest them; return what read them, too."""
    from meshwright.actions.spark import SparkOptions
    from meshwright.cli.output import note, working
    from meshwright.errors import MissingDependencyError
    from meshwright.pipeline.dataset.ingest import ingest
    from meshwright.workloads import write_raw_events, zipf

    few, many = max(1, min(5, topics)), max(1, min(50, topics))  # zipf rejects zero topics
    synthetic = zipf(nodes, topics, seed=seed, min_size=few, max_size=many)
    files = write_raw_events(synthetic, out / "raw", seed=seed)
    try:
        spark, reader = SparkOptions().open(), "Spark"
    except MissingDependencyError as error:
        note(f"reading the logs without Spark: {error}")
        spark, reader = None, "without Spark"
    with working("reading the logs"):
        return ingest(spark, files, out / "dataset"), reader


def _ask(interest: "Interest", progress: bool) -> "Advice":
    """Try the designs without requirements, as `advise` does."""
    from meshwright.cli.plans import design_runs
    from meshwright.designs.advice import advise

    return advise(interest, steps=STEPS, **design_runs.with_progress(forced=progress))


def _format_advice(plan: "Plan", ring: "Plan") -> str:
    """Compare the chosen plan with a ring per topic."""
    from meshwright.report.tables import name_of

    if not len(plan.overlay):
        return "no two brokers share a topic: there is nothing to link"
    return (
        f"{name_of(plan)}: {len(plan.overlay):,} links, at most {plan.figures['max_degree']:,} at a broker; "
        f"a ring per topic takes {len(ring.overlay):,} (equal links count once) and "
        f"{ring.figures['max_degree']:,}"
    )


def _format_certificate(plan: "Plan") -> str:
    from meshwright.formatting import excess

    if not len(plan.overlay):
        return "no links"
    return (
        f"at most {excess(plan.figures['gap'])} above the fewest links possible: a certificate proves that "
        f"{plan.figures['lower_bound']:,} are needed"
    )


def _format_verdict(verdict: "PlanReport", topics: int) -> str:
    if not verdict.passed:
        return "NO: " + "; ".join(verdict.disagreements or ("a topic is split",))
    return f"yes: all {topics:,} topics connected, and the certificate holds, by independent code"


def _route(plan: "Plan", folder: Path) -> dict[str, Any]:
    """Choose a tree for each topic, store the trees in the plan, and return their figures."""
    from meshwright.routes import figures, route
    from meshwright.store.trees import write_trees

    trees = route(plan.overlay)
    write_trees(trees, folder)
    return figures(trees)


def _configure(plan: Path, out: Path) -> dict[str, Any]:
    """Write the configuration of every broker, as `export` does, and return its figures."""
    from meshwright.actions.export import export
    from meshwright.cli.output import working

    with working("writing the configuration of every broker"):
        answer = export(plan, "mosquitto", out).to_dict()
    return {name: answer[name] for name in ("brokers", "bridges", "topic_lines", "out")}


def _run_brokers(interest: "Interest", out: Path) -> dict[str, Any]:
    """Plan the first brokers alone, start them, publish everywhere, and return the counts and a line."""
    import tempfile

    from meshwright.actions.federation import FederationRun, run_proof
    from meshwright.brokers.mosquitto import installed_version
    from meshwright.cli.progress_bar import ProgressBar, amounts
    from meshwright.deploy import BrokerSettings
    from meshwright.deploy.proof.live_plan import read_federation_plan
    from meshwright.designs.design import design
    from meshwright.errors import MissingDependencyError
    from meshwright.formatting import counted
    from meshwright.store.plans import write_plan

    try:
        version = installed_version()
    except MissingDependencyError as error:
        return {"passed": None, "line": f"skipped: {error}"}
    own = _first_brokers(interest, REAL_BROKERS)
    plan = design(own, "low")
    write_plan(plan, out)
    _route(plan, out)
    with (
        tempfile.TemporaryDirectory(prefix="meshwright-") as temporary,
        ProgressBar(wording=amounts()) as bar,
    ):
        folder = Path(temporary) / "federation"
        settings = BrokerSettings("plain", version)
        run = FederationRun(read_federation_plan(out), settings, folder, Path(temporary), bar)
        proof = run_proof(run)
    counts = proof.figures
    line = (
        f"{counts['brokers']:,} started, {counted(counts['published'], 'message')}, "
        f"{counts['expected']:,} deliveries: "
        f"{counts['missing']:,} missing, {counts['duplicate']:,} duplicate, {counts['leaked']:,} leaked"
    )
    return {"passed": proof.passed, **counts, "plan": str(out), "line": line}


def _first_brokers(interest: "Interest", count: int) -> "Interest":
    """Return the subscriptions of the first brokers alone."""
    import pyarrow.compute as pc

    from meshwright.interest import Interest

    table = interest.to_arrow()
    return Interest.from_arrow(table.filter(pc.is_in(table["node"], interest.node_names[:count])))
