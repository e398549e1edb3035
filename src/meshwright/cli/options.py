"""Options that several commands share, so that they read the same everywhere."""

from typing import Annotated, TypeAlias

import typer

Source: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="DATASET|FILE",
        help="A dataset folder, or a CSV, JSON-lines or Parquet file with columns node and topic.",
    ),
]

Seed: TypeAlias = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, help="The same seed gives the same result.")
]

K: TypeAlias = Annotated[
    float | None,
    typer.Option("--k", metavar="K", help="Low-ODA: 1 favours few links, more a low maximum degree."),
]

Rounds: TypeAlias = Annotated[
    int | None,
    typer.Option("--rounds", metavar="R", min=1, help="GM: run again on the pairs not yet linked."),
]

MaxEdges: TypeAlias = Annotated[
    int | None, typer.Option("--max-edges", metavar="M", min=0, help="Stop at this many links.")
]

MaxDegree: TypeAlias = Annotated[
    int | None, typer.Option("--max-degree", metavar="D", min=0, help="No more links per broker than this.")
]

Threads: TypeAlias = Annotated[
    int, typer.Option("--threads", metavar="N", min=1, help="Work on so many cores; the plan is the same.")
]

ShowProgress: TypeAlias = Annotated[
    bool, typer.Option("--progress", help="Show progress even where there is no terminal.")
]

Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
