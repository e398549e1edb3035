"""Options and steps that several content commands share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from meshwright.content import ContentPlan, Workload

WorkloadFolder: TypeAlias = Annotated[
    Path, typer.Argument(metavar="WORKLOAD", help="A workload's folder; see 'content workload'.")
]

Argmax: TypeAlias = Annotated[
    bool,
    typer.Option("--argmax", help="Steiner variants: take each user's heaviest broker instead of drawing."),
]

Sum: TypeAlias = Annotated[
    bool,
    typer.Option("--sum", help="Clustering: rank brokers by the sum of the traffic, as the paper does."),
]

SearchSeconds: TypeAlias = Annotated[
    float | None,
    typer.Option("--seconds", metavar="S", min=0, help="Descent: stop after S seconds."),
]

SearchSteps: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--steps", metavar="N", min=0, help="Descent: stop after N steps; the same on every machine."
    ),
]

PlanFolder: TypeAlias = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Write assignment, trees, costs and a page with a map here."),
]


def read(folder: Path) -> "Workload":
    """Read a workload, with a note on the terminal while it loads."""
    from meshwright.cli import output
    from meshwright.store.content.workloads import read_workload

    with output.working(f"reading {folder}"):
        return read_workload(folder)


def format_workload(workload: "Workload") -> str:
    """Return the size of a workload in one line."""
    from meshwright.formatting import counted

    wanted = len(workload.subscription_channels)
    counts = (
        f"{counted(workload.num_users, 'user')}, {counted(workload.num_brokers, 'broker')}, "
        f"{counted(workload.num_channels, 'channel')}"
    )
    return f"{counts}, {counted(wanted, 'subscription')}"


def run_algorithm(
    workload: "Workload", algorithm: str, *, seed: int, shown: bool, **parameters: Any
) -> "ContentPlan":
    """Run one algorithm and draw its progress."""
    from meshwright.cli.progress_bar import SEARCH_STEPS, ProgressBar
    from meshwright.content import assign

    with ProgressBar(algorithm, SEARCH_STEPS, forced=shown) as drawing:
        return assign(workload, algorithm, seed=seed, progress=drawing, **parameters)


def plan_as_json(plan: "ContentPlan", out: Path | None = None) -> dict[str, Any]:
    """Return what --json prints about a plan."""
    parameters = {"parameters": dict(plan.parameters), "seed": plan.seed}
    return {"algorithm": plan.algorithm, **parameters, **plan.figures, "out": out and str(out)}


def check_out(out: Path | None) -> None:
    """Check before any long work that a plan can be written at the end."""
    from meshwright.actions.outputs import check_target
    from meshwright.report.sheet import check_matplotlib

    if out is not None:
        check_target(out, "content plan")
        check_matplotlib()


def write_plan(plan: "ContentPlan", out: Path) -> None:
    """Write a plan with its report page."""
    from meshwright.report.content_page import write_content_page
    from meshwright.store.content.content_plans import write_content_plan

    write_content_plan(plan, out, report=lambda file: write_content_page(plan, file))
