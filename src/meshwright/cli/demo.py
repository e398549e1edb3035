"""`meshwright demo`: the whole story without data."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.options import Json, Seed, ShowProgress

EXAMPLES = ("meshwright demo --out out/demo",)


def demo(
    *,
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="DIR", help="Folder for logs, dataset, plan, configuration and report."
        ),
    ] = Path("meshwright-demo"),
    nodes: Annotated[int, typer.Option("--nodes", metavar="N", help="Number of brokers.")] = 2000,
    topics: Annotated[int, typer.Option("--topics", metavar="N", help="Number of topics.")] = 500,
    seed: Seed = 1,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Tell the whole story on a synthetic federation, from dirty logs to running brokers and a report.

    Each step prints one line with its figure. If Mosquitto is installed, 12 of the brokers are planned alone,
    started, and every message among them is counted. The last line names the page to open in a browser.
    """
    from meshwright.actions.demo import demonstrate
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO
    from meshwright.cli.progress_bar import ProgressBar

    with ProgressBar(forced=progress) as bar:

        def say(step: str, figure: str) -> None:
            bar.stop()
            if not json:
                output.answer(f"{step:<14} {figure}")
                sys.stdout.flush()

        made = demonstrate(out, nodes=nodes, topics=topics, seed=seed, say=say, progress=bar)
    output.show(made, "", f"Open {made.report}", json=json)
    if not made.passed:
        raise typer.Exit(ANSWER_IS_NO)
