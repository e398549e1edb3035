"""`meshwright doctor`: what this machine has of what Meshwright can use, and how to get the rest."""

from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.options import Json

if TYPE_CHECKING:
    from meshwright.actions.doctor import Finding

EXAMPLES = ("meshwright doctor", "meshwright doctor --spark")


def doctor(
    *,
    spark: Annotated[
        bool, typer.Option("--spark", help="Start Spark too, and run one job: takes half a minute.")
    ] = False,
    json: Json = False,
) -> None:
    """Check what this machine has: Python, Java, Spark, Mosquitto, a browser, and places to write.

    Each line says what was found, or the command that gets it. The exit code is 1 if something is missing
    that every design needs.
    """
    from meshwright.actions.doctor import check_machine
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO

    made = check_machine(spark=spark)
    width = max(len(one.name) for one in made.findings)
    output.show(made, *(_line(one, width) for one in made.findings), json=json)
    if not made.passed:
        raise typer.Exit(ANSWER_IS_NO)


def _line(one: "Finding", width: int) -> str:
    if one.found:
        return f"{one.name:<{width}}  {one.found}"
    return f"{one.name:<{width}}  missing; needed for {one.needed_for}: {one.help}"
