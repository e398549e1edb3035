"""The `meshwright` command: its sub-commands and their exit codes.

Exit codes: 0 done, 1 the answer is no, 2 bad input, 70 a bug of Meshwright, 130 interrupted, 141 closed pipe.
"""

from __future__ import annotations

import io
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from meshwright.cli import bench, demo, reproduce
from meshwright.cli.content import commands
from meshwright.cli.data import follow, ingest, profile, sample, traffic, workload
from meshwright.cli.deploy import apply, diff, export, federation, route
from meshwright.cli.live import chaos, churn
from meshwright.cli.output import CLOSED_PIPE, INTERRUPTED, explain, note
from meshwright.cli.plans import advise, compare, plan, soc, verify
from meshwright.jit.announce import announce

EXAMPLES = (
    "meshwright demo",
    "meshwright plan subscriptions.csv --algorithm low --out plan",
    "meshwright verify plan subscriptions.csv",
)


def _format_examples(examples: Sequence[str]) -> str:
    """Format examples for the end of a help text; the backspace stops click from joining the lines."""
    heading = "Examples:" if len(examples) > 1 else "Example:"
    return "\n".join(["\b", heading, *(f"  {example}" for example in examples)])


app = typer.Typer(
    name="meshwright",
    epilog=_format_examples(EXAMPLES),
    add_completion=False,
    rich_markup_mode=None,  # plain help is fast, and examples keep their lines
    pretty_exceptions_enable=False,
)
app.command(epilog=_format_examples(demo.EXAMPLES))(demo.demo)
app.command(epilog=_format_examples(workload.EXAMPLES))(workload.workload)
app.command(epilog=_format_examples(ingest.EXAMPLES))(ingest.ingest)
app.command(epilog=_format_examples(profile.EXAMPLES))(profile.profile)
app.command(epilog=_format_examples(sample.EXAMPLES))(sample.sample)
app.command(epilog=_format_examples(follow.EXAMPLES))(follow.follow)
app.command(epilog=_format_examples(traffic.EXAMPLES))(traffic.traffic)
app.command(epilog=_format_examples(plan.EXAMPLES))(plan.plan)
app.command(epilog=_format_examples(verify.EXAMPLES))(verify.verify)
app.command(epilog=_format_examples(soc.EXAMPLES))(soc.soc)
app.command(epilog=_format_examples(route.EXAMPLES))(route.route)
app.command(epilog=_format_examples(export.EXAMPLES))(export.export)
app.command(epilog=_format_examples(diff.EXAMPLES))(diff.diff)
app.command(epilog=_format_examples(apply.EXAMPLES))(apply.apply)
app.command(epilog=_format_examples(federation.EXAMPLES))(federation.federation)
app.command(epilog=_format_examples(advise.EXAMPLES))(advise.advise)
app.command(epilog=_format_examples(compare.EXAMPLES))(compare.compare)
app.command(epilog=_format_examples(churn.EXAMPLES))(churn.churn)
app.command(epilog=_format_examples(chaos.EXAMPLES))(chaos.chaos)
app.command(epilog=_format_examples(reproduce.EXAMPLES))(reproduce.reproduce)
app.command(epilog=_format_examples(bench.EXAMPLES))(bench.bench)
app.add_typer(commands.content_app(_format_examples), name="content")


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"meshwright {version('meshwright')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def meshwright(
    context: typer.Context,
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error. Works after a command too.")
    ] = False,
) -> None:
    """Plan which brokers of a publish/subscribe federation to link.

    The subscribers of every topic stay connected, with few links per broker.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def execute(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    debug = "--debug" in arguments
    words = [word for word in arguments if word != "--debug"]
    try:
        with announce(note):
            code = app(words, prog_name="meshwright", standalone_mode=False)
        sys.stdout.flush()
    except (SystemExit, BrokenPipeError):  # how click and rich react to a closed pipe
        code = CLOSED_PIPE
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:
        if debug:
            traceback.print_exc()
        code = explain(error)
    if code == INTERRUPTED:
        note("interrupted; nothing was left half-written")
    return code if isinstance(code, int) else 0


def run() -> None:
    """Run the `meshwright` program."""
    logging.getLogger().addHandler(logging.NullHandler())  # library errors become one line of ours
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the parent process
            setattr(sys, name, io.TextIOWrapper(io.FileIO(os.devnull, "w"), encoding="utf-8"))
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without × still gets an answer
    code = execute(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # Python would flush again at exit, and change the exit code
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)
