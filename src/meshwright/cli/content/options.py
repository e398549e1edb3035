"""Options that several content commands share."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

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
