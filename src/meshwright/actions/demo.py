"""Demo: the whole story on a synthetic federation, from dirty logs to running brokers and a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import MissingDependencyError
from meshwright.formatting import counted, excess
from meshwright.progress import Progress, announce_phase

if TYPE_CHECKING:
    from meshwright.actions.ingest import Ingested
    from meshwright.designs.plan import Plan
    from meshwright.interest import Interest
    from meshwright.verify.claims import PlanReport

    Say = Callable[[str, str], None]
    """Takes the name of a step that is done, and its figure."""

STEPS = 20_000
"""Steps of each search: a number of steps, unlike seconds, gives the same plan on every machine."""
REAL_BROKERS = 12
"""Brokers of the federation that are started; each is a process."""


@dataclass(frozen=True, eq=False)
class Demonstration:
    """What the demo made and found."""

    ingested: Ingested
    designs: tuple[Plan, ...]
    """All plans that were tried, and a ring per topic."""
    plan: Plan
    folder: Path
    """The folder of the plan."""
    verdict: PlanReport
    trees: dict[str, Any]
    configuration: dict[str, Any]
    real_brokers: dict[str, Any]
    picture: Path
    report: Path
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the plan is verified, and the brokers that were started agree with it."""
        return self.verdict.passed and self.real_brokers["passed"] is not False

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of all steps."""
        made = {"verified": self.verdict.passed, "folder": str(self.folder)}
        return {
            "dataset": self.ingested.dataset,
            "ingested": self.ingested.outcome.described(),
            "designs": [plan.to_dict() for plan in self.designs],
            "plan": {**self.plan.to_dict(), **made},
            "trees": self.trees,
            "configuration": self.configuration,
            "real_brokers": self.real_brokers,
            "picture": str(self.picture),
            "report": str(self.report),
        }


def demonstrate(
    out: Path,
    *,
    nodes: int = 2000,
    topics: int = 500,
    seed: int = 1,
    say: Say = lambda _, __: None,
    progress: Progress | None = None,
) -> Demonstration:
    """Make logs, read, plan, verify, route and configure them, run some of the brokers, and report.

    `say` is called as each step is done. Without a broker program on this machine, none is started.
    """
    from meshwright.actions.advise import advise
    from meshwright.actions.export import export
    from meshwright.actions.plan import design
    from meshwright.actions.report import REPORT, write_page
    from meshwright.actions.route import route
    from meshwright.actions.sources import format_size, load_interest
    from meshwright.deploy.targets import DEFAULT_TARGET
    from meshwright.files.urls import require_local
    from meshwright.report import degree_and_support
    from meshwright.report.sheet import check_chart
    from meshwright.routes import figures
    from meshwright.store import plan_check
    from meshwright.store.plan_writer import write_plan

    require_local(out).mkdir(parents=True, exist_ok=True)
    picture, dataset, folder = out / "designs.png", str(out / "dataset"), out / "plan"
    check_chart(picture)
    made, notes = ingest_raw_logs(nodes, topics, seed, out, progress)
    rows = made.outcome
    say("dirty logs", f"{rows.read:,} rows in {out / 'raw'}")
    say(
        "Spark" if made.on_spark else "without Spark",
        f"{rows.kept:,} rows kept; {rows.duplicates:,} duplicates, {rows.superseded:,} superseded, "
        f"{rows.quarantined:,} quarantined",
    )
    interest, _ = load_interest(dataset)
    size = format_size(interest)
    say("dataset", size)
    advice, ring = advise(interest, steps=STEPS, progress=progress), design(interest, "ring")
    assert advice.plan is not None  # without requirements, every design fits
    plan = advice.plan
    say("advice", _explain_choice(plan, ring))
    write_plan(plan, folder)
    say("plan", _explain_certificate(plan))
    verdict = plan_check.verify_stored_plan(folder, interest)
    say("verified", _explain_verdict(verdict, interest.num_topics))
    trees = figures(route(folder, dataset).trees)
    most = f"{trees['mean_hops']:.1f} hops on average, {trees['max_hops']} at most"
    say("trees", f"{counted(int(trees['trees']), 'tree')}; {most}")
    announce_phase(progress, "writing the configuration of every broker")
    exported = export(folder, DEFAULT_TARGET, out / "federation").to_dict()
    configuration = {name: exported[name] for name in ("brokers", "bridges", "topic_lines", "out")}
    say(
        "configuration",
        f"{counted(exported['brokers'], 'Mosquitto broker')}, {counted(exported['bridges'], 'bridge')}, "
        f"{counted(exported['topic_lines'], 'topic line')}",
    )
    line, proof = run_brokers(interest, out / "brokers", progress)
    say("real brokers", line)
    page = Path(write_page(folder, interest, out / REPORT, progress=progress).path)
    tried = [own.plan for own in advice.tried]
    drawn = [each for each in tried if each.algorithm != "best"]
    degree_and_support([*drawn, ring], picture, title=f"A synthetic federation: {size}")
    say("report", f"{page.stat().st_size / 1e6:.1f} MB with figures, charts, trees and the graph")
    return Demonstration(
        made, (*tried, ring), plan, folder, verdict, trees, configuration, proof, picture, page, notes
    )


def ingest_raw_logs(
    nodes: int, topics: int, seed: int, out: Path, progress: Progress | None
) -> tuple[Ingested, tuple[str, ...]]:
    """Write raw, dirty logs of a synthetic federation, and ingest them, on Spark if it is there."""
    from meshwright.actions.ingest import SparkOptions, ingest
    from meshwright.workloads import write_raw_events, zipf

    few, many = max(1, min(5, topics)), max(1, min(50, topics))  # zipf rejects zero topics
    synthetic = zipf(nodes, topics, seed=seed, min_size=few, max_size=many)
    files = write_raw_events(synthetic, out / "raw", seed=seed)
    announce_phase(progress, "reading the logs")
    try:
        return ingest(files, out / "dataset", spark=SparkOptions(always=True)), ()
    except MissingDependencyError as error:
        return ingest(files, out / "dataset"), (f"reading the logs without Spark: {error}",)


def run_brokers(interest: Interest, out: Path, progress: Progress | None) -> tuple[str, dict[str, Any]]:
    """Plan the first brokers alone, start them, publish everywhere, and return a line and the counts."""
    import pyarrow.compute as pc

    from meshwright.actions.federation import FederationChoice, federation
    from meshwright.actions.plan import design
    from meshwright.interest import Interest
    from meshwright.routes import route
    from meshwright.store.plan_writer import write_plan
    from meshwright.store.trees import write_trees

    table = interest.to_arrow()
    first = table.filter(pc.is_in(table["node"], interest.node_names[:REAL_BROKERS]))
    plan = design(Interest.from_arrow(first), "low")
    write_plan(plan, out)
    write_trees(route(plan.overlay), out)
    announce_phase(progress, "starting brokers")
    try:
        proof = federation(FederationChoice(out))
    except MissingDependencyError as error:
        return f"skipped: {error}", {"passed": None}
    counts = proof.figures
    line = (
        f"{counts['brokers']:,} started, {counted(counts['published'], 'message')}, "
        f"{counts['expected']:,} deliveries: "
        f"{counts['missing']:,} missing, {counts['duplicate']:,} duplicate, {counts['leaked']:,} leaked"
    )
    return line, {"passed": proof.passed, **counts, "plan": str(out)}


def _explain_choice(plan: Plan, ring: Plan) -> str:
    """Compare the chosen plan with a ring per topic."""
    from meshwright.report.tables import name_of

    if not len(plan.overlay):
        return "no two brokers share a topic: there is nothing to link"
    return (
        f"{name_of(plan)}: {len(plan.overlay):,} links, at most {plan.figures['max_degree']:,} at a broker; "
        f"a ring per topic takes {len(ring.overlay):,} (equal links count once) and "
        f"{ring.figures['max_degree']:,}"
    )


def _explain_certificate(plan: Plan) -> str:
    if not len(plan.overlay):
        return "no links"
    return (
        f"at most {excess(plan.figures['gap'])} above the fewest links possible: a certificate proves that "
        f"{plan.figures['lower_bound']:,} are needed"
    )


def _explain_verdict(verdict: PlanReport, topics: int) -> str:
    if not verdict.passed:
        return "NO: " + "; ".join(verdict.disagreements or ("a topic is split",))
    return f"yes: all {topics:,} topics connected, and the certificate holds, by independent code"
