"""`meshwright bench`: speed and memory on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.options import Json

EXAMPLES = ("meshwright bench", "meshwright bench --quick --out results.md")


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
    from meshwright.actions.bench import bench as run
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO

    made = run(quick=quick, only=only, out=out)
    output.show(made, f"{made.held} of {made.asked} floors hold; written to {made.page}", json=json)
    if not made.passed:
        raise typer.Exit(ANSWER_IS_NO)
