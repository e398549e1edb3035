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
from importlib import import_module
from typing import Annotated

import typer

from meshwright.cli.output import CLOSED_PIPE, INTERRUPTED, explain, note
from meshwright.jit.announce import announce

EXAMPLES = (
    "meshwright demo",
    "meshwright plan subscriptions.csv --algorithm low --out plan",
    "meshwright verify plan subscriptions.csv",
)
COMMANDS = {
    "demo": ("demo", "DEMO_EXAMPLES"),
    "workload": ("data.workload", "EXAMPLES"),
    "ingest": ("data.raw_logs", "INGEST_EXAMPLES"),
    "profile": ("data.explore", "PROFILE_EXAMPLES"),
    "sample": ("data.explore", "SAMPLE_EXAMPLES"),
    "follow": ("data.raw_logs", "FOLLOW_EXAMPLES"),
    "traffic": ("data.raw_logs", "TRAFFIC_EXAMPLES"),
    "plan": ("plans.plan", "EXAMPLES"),
    "verify": ("plans.verify", "VERIFY_EXAMPLES"),
    "report": ("plans.report", "REPORT_EXAMPLES"),
    "soc": ("plans.soc", "SOC_EXAMPLES"),
    "route": ("deploy.route", "EXAMPLES"),
    "export": ("deploy.export", "EXAMPLES"),
    "diff": ("deploy.apply", "DIFF_EXAMPLES"),
    "apply": ("deploy.apply", "APPLY_EXAMPLES"),
    "federation": ("deploy.federation", "EXAMPLES"),
    "advise": ("plans.compare", "ADVISE_EXAMPLES"),
    "compare": ("plans.compare", "COMPARE_EXAMPLES"),
    "churn": ("plans.churn", "CHURN_EXAMPLES"),
    "chaos": ("plans.churn", "CHAOS_EXAMPLES"),
    "reproduce": ("reproduce", "EXAMPLES"),
    "bench": ("demo", "BENCH_EXAMPLES"),
}
"""Each command with its module in this package, where a function has its name, and with its examples."""


def _format_examples(examples: Sequence[str]) -> str:
    """Format examples for the end of a help text; the backspace stops click from joining the lines."""
    heading = "Examples:" if len(examples) > 1 else "Example:"
    return "\n".join(["\b", heading, *(f"  {example}" for example in examples)])


def build_app(only: str | None = None) -> typer.Typer:
    """Return the program with all commands, or with one: each command imports its own modules."""
    app = typer.Typer(
        name="meshwright",
        epilog=_format_examples(EXAMPLES),
        add_completion=False,
        rich_markup_mode=None,  # plain help is fast, and examples keep their lines
        pretty_exceptions_enable=False,
    )
    app.callback(invoke_without_command=True)(meshwright)
    for command in COMMANDS if only is None else {only} & COMMANDS.keys():
        module, examples = COMMANDS[command]
        imported = import_module(f"meshwright.cli.{module}")
        app.command(epilog=_format_examples(getattr(imported, examples)))(getattr(imported, command))
    if only in (None, "content"):
        from meshwright.cli.content import content_app

        app.add_typer(content_app(_format_examples), name="content")
    return app


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"meshwright {version('meshwright')}")
        raise typer.Exit


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


def execute(arguments: Sequence[str], *, own_process: bool = False) -> int:
    """Run one command line, maybe in a process of its own, and return its exit code."""
    debug = "--debug" in arguments
    words = [word for word in arguments if word != "--debug"]
    only = words[0] if words and words[0] in (*COMMANDS, "content") else None
    try:
        with announce(note, own_process=own_process):
            code = build_app(only)(words, prog_name="meshwright", standalone_mode=False)
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
    code = execute(sys.argv[1:], own_process=True)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # Python would flush again at exit, and change the exit code
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)
