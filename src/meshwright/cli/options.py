"""Options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
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
    typer.Option(
        "--k",
        metavar="K",
        help="Low-ODA, CD-Max: 1 favours few links, more a low maximum degree. "
        "Resilient: 2 survives one failure.",
    ),
]

Rounds: TypeAlias = Annotated[
    int | None,
    typer.Option("--rounds", metavar="R", min=1, help="GM: number of rounds on unused pairs."),
]

MaxEdges: TypeAlias = Annotated[
    int | None, typer.Option("--max-edges", metavar="M", min=0, help="Stop at this many links.")
]

MaxDegree: TypeAlias = Annotated[
    int | None, typer.Option("--max-degree", metavar="D", min=0, help="No more links per broker than this.")
]

CoverageGreedy: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--coverage-greedy", metavar="N", min=0, help="SpiderCast: neighbours per topic by greedy picks."
    ),
]

CoverageRandom: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--coverage-random", metavar="N", min=0, help="SpiderCast: neighbours per topic by random picks."
    ),
]

Objective: TypeAlias = Annotated[
    str | None,
    typer.Option("--objective", metavar="NAME", help="Exact, best: edges or degree; best: or balanced."),
]

TimeLimit: TypeAlias = Annotated[
    float | None,
    typer.Option("--time-limit", metavar="S", min=0, help="Exact: stop after this many seconds."),
]

Seconds: TypeAlias = Annotated[
    float | None,
    typer.Option("--seconds", metavar="S", min=0, help="Best: improve for this many seconds; 20 by default."),
]

Steps: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--steps", metavar="N", min=0, help="Best: improve for this many steps, the same on every machine."
    ),
]

Costs: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--costs",
        metavar="FILE",
        help="Link costs: a CSV or Parquet file with columns u, v, cost for pairs, or node, x, y.",
    ),
]

Metric: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--metric", help="Reject costs where a detour is cheaper than the direct link; takes n³ steps."
    ),
]

Certify: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--certify", help="Prove a lower bound on links, in extra time, and keep the proof with the plan."
    ),
]

Threads: TypeAlias = Annotated[
    int, typer.Option("--threads", metavar="N", min=1, help="Number of threads; the plan is the same.")
]

ShowProgress: TypeAlias = Annotated[
    bool, typer.Option("--progress", help="Show progress even without a terminal.")
]

Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


NodeColumn: TypeAlias = Annotated[str, typer.Option("--node", metavar="COLUMN", help="The column of nodes.")]

TopicColumn: TypeAlias = Annotated[
    str, typer.Option("--topic", metavar="COLUMN", help="The column of topics.")
]

TimeColumn: TypeAlias = Annotated[
    str | None, typer.Option("--time", metavar="COLUMN", help="The column of times; 'time' if there is one.")
]

OperationColumn: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--operation",
        metavar="COLUMN",
        help="The column that says subscribe or unsubscribe; 'operation' if there is one.",
    ),
]

SequenceColumn: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--sequence",
        metavar="COLUMN",
        help="The column that orders events of the same time; 'sequence' if there is one.",
    ),
]

MaxBad: TypeAlias = Annotated[
    float, typer.Option("--max-bad", metavar="SHARE", help="Fail if more rows than this are bad.")
]
