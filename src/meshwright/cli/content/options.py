"""Options that several content commands share."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

WorkloadFolder: TypeAlias = Annotated[
    Path, typer.Argument(metavar="WORKLOAD", help="A workload's folder; see 'content workload'.")
]

PlanFolder: TypeAlias = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Write assignment, trees, costs and a page with a map here."),
]
