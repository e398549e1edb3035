"""Options that say which column of raw rows holds what, and how many bad rows are too many."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

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
