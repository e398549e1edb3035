"""`meshwright demo` and `meshwright bench`: try Meshwright without data, and measure it on this machine."""

import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.options import Json, Seed, ShowProgress

if TYPE_CHECKING:
    from meshwright.designs import Plan
    from meshwright.pipeline.dataset.ingest import Outcome

ALGORITHMS = ("gm", "low", "minmax", "ring")
SHOWN = 1
"""The position of the design that the report shows."""

DEMO_EXAMPLES = ("meshwright demo --out out/demo",)

BENCH_EXAMPLES = ("meshwright bench", "meshwright bench --quick --out results.md")

CHECKOUT = Path(__file__).resolve().parents[3]
"""The source checkout, which holds the benchmarks; the package does not."""


def demo(
    *,
    out: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="Folder for logs, dataset, plans, a picture and a report."),
    ] = Path("meshwright-demo"),
    nodes: Annotated[int, typer.Option("--nodes", metavar="N", help="Number of brokers.")] = 2000,
    topics: Annotated[int, typer.Option("--topics", metavar="N", help="Number of topics.")] = 500,
    seed: Seed = 1,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Ingest raw logs of a synthetic federation, design it four ways, verify each plan and draw them.

    The report shows the plan of Low-ODA: one HTML file to open in a browser.
    """
    from meshwright.cli import output
    from meshwright.cli.output import ANSWER_IS_NO
    from meshwright.cli.plans import design_runs
    from meshwright.cli.plans.report import write_page
    from meshwright.face import REPORT
    from meshwright.report import comparison, degree_and_support
    from meshwright.report.sheet import check_chart
    from meshwright.store import write_plan
    from meshwright.store.plan_check import verify_stored_plan

    out.mkdir(parents=True, exist_ok=True)
    picture = check_chart(out / "designs.png")
    dataset = out / "dataset"
    outcome = _ingest_raw_logs(nodes, topics, seed, out, progress)
    interest = design_runs.load(str(dataset))

    plans, folders, verified = [], [], []
    for name in ALGORITHMS:
        plan = design_runs.make(interest, name, {}, progress=progress)
        folder = out / "plans" / name
        write_plan(plan, folder)
        plans.append(plan)
        folders.append(folder)
        verified.append(verify_stored_plan(folder, interest).passed)
    page, _ = write_page(folders[SHOWN], interest, out / REPORT, progress=progress)
    degree_and_support(plans, picture, title=f"A synthetic federation: {design_runs.format_size(interest)}")

    if json:
        described = [
            {**design_runs.described(plan), "verified": passed, "plan": str(folder)}
            for plan, passed, folder in zip(plans, verified, folders, strict=True)
        ]
        ingested = outcome.described()
        output.answer_json(
            {
                "dataset": str(dataset),
                "ingested": ingested,
                "plans": described,
                "picture": str(picture),
                "report": str(page),
            }
        )
    else:
        output.answer(
            f"A synthetic federation: {design_runs.format_size(interest)}.",
            f"Ingested from raw logs by Spark: read {outcome.read:,} rows = {outcome.kept:,} kept + "
            f"{outcome.duplicates:,} duplicates + {outcome.superseded:,} superseded + "
            f"{outcome.quarantined:,} quarantined.",
            "Which brokers should be linked, so that the subscribers of every topic are connected?",
            comparison(plans, verified=verified),
            *_remarks(plans),
            "",
            f"report   {page}",
            f"picture  {picture}",
            f"raw logs {out / 'raw'}",
            f"dataset  {dataset}",
            f"plans    {', '.join(map(str, folders))}",
            "",
            f"Try next: {_program()} plan {dataset} --algorithm gpa --max-edges {len(plans[0].overlay) // 2} "
            f"--out {out / 'plans' / 'gpa'}",
        )
    if not all(verified):
        raise typer.Exit(ANSWER_IS_NO)


def _ingest_raw_logs(nodes: int, topics: int, seed: int, out: Path, progress: bool) -> "Outcome":
    """Write raw, dirty logs of a synthetic federation, and ingest them."""
    from meshwright.pipeline.dataset.ingest import ingest
    from meshwright.workloads import write_raw_events, zipf

    few, many = max(1, min(5, topics)), max(1, min(50, topics))  # zipf rejects zero topics
    synthetic = zipf(nodes, topics, seed=seed, min_size=few, max_size=many)
    files = write_raw_events(synthetic, out / "raw", seed=seed)
    return ingest(None, files, out / "dataset")


def _program() -> str:
    """Return how to call `meshwright` from here: by name, or by path if it is not on PATH."""
    import shutil

    installed = Path(sys.executable).with_name("meshwright")
    if shutil.which("meshwright") or not installed.exists():
        return "meshwright"
    return str(installed.relative_to(Path.cwd()) if installed.is_relative_to(Path.cwd()) else installed)


def _remarks(plans: "list[Plan]") -> list[str]:
    """Return sentences that sum up the table."""
    gm, low, _, ring = (plan.figures for plan in plans)
    if not gm["edges"]:
        return ["No two brokers share a topic: there is nothing to link."]
    return [
        f"A ring per topic takes {ring['edges'] / gm['edges']:.1f} times the links of Greedy Merge, or "
        f"{ring['parallel_edges'] / gm['edges']:.1f} times if links that topics share count for each topic.",
        f"Greedy Merge gives one broker {gm['max_degree']:,} links; with Low-ODA no broker has more than "
        f"{low['max_degree']:,}, for {low['edges'] / gm['edges'] * 100 - 100:.0f} % more links in total.",
    ]


def bench(
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Small cases only: under a minute.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help="Only cases with this in their name; may be repeated."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the page here, not to benchmarks/RESULTS.md."),
    ] = None,
    json: Json = False,
) -> None:
    """Measure speed and memory on this machine, and write a page of results.

    The exit code is 1 if a measured ratio misses its floor.
    """
    from meshwright.cli import output
    from meshwright.cli.output import ANSWER_IS_NO
    from meshwright.errors import InputError

    if not (CHECKOUT / "benchmarks" / "run.py").is_file():
        raise InputError(
            "the benchmarks are not part of the installed package: run make bench in a source checkout"
        )
    if str(CHECKOUT) not in sys.path:
        sys.path.insert(0, str(CHECKOUT))
    outcome = import_module("benchmarks.run").main(quick, only, out)
    if json:
        output.answer_json({**asdict(outcome), "passed": outcome.passed})
    else:
        output.answer(f"{outcome.held} of {outcome.asked} floors hold; written to {outcome.page}")
    if not outcome.passed:
        raise typer.Exit(ANSWER_IS_NO)
