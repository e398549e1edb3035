"""`meshwright bench`: measure the engine on this machine."""

import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.options import Json

EXAMPLES = ("meshwright bench", "meshwright bench --quick --out results.md")

CHECKOUT = Path(__file__).resolve().parents[3]
"""The source checkout, which holds the benchmarks; the package does not."""


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
