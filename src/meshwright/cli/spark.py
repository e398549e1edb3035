"""Options about Spark."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

Master: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="Where Spark runs: local[*] by default, spark://host:7077, yarn, k8s://…, sc://host:15002.",
    ),
]

Conf: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="A Spark setting; can be repeated."),
]


ConnectTimeout: TypeAlias = Annotated[
    float,
    typer.Option(
        "--connect-timeout",
        metavar="S",
        min=0.1,
        help="Seconds that the Spark master may take to answer, once Java runs.",
    ),
]
