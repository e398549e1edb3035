"""The `meshwright` command: its sub-commands, their help, and how one is run."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from meshwright.cli.commands import add_command
from meshwright.cli.exit_codes import CLOSED_PIPE, DONE, INTERRUPTED, explain
from meshwright.cli.output import note

EXAMPLES = (
    "meshwright demo",
    "meshwright plan subscriptions.csv --algorithm low --out plan",
    "meshwright verify plan subscriptions.csv",
)
GROUPS: dict[str, dict[str, str]] = {
    "From logs to brokers": {
        "ingest": "raw_logs",
        "plan": "design",
        "verify": "check",
        "route": "deploy",
        "export": "deploy",
        "report": "check",
    },
    "A project": {
        "init": "project",
        "status": "project",
    },
    "Choose a design": {
        "advise": "design",
        "compare": "design",
        "soc": "soc",
        "churn": "churn",
        "chaos": "churn",
    },
    "Run and change brokers": {
        "federation": "deploy",
        "lint": "deploy",
        "diff": "deploy",
        "apply": "deploy",
    },
    "Look at data": {
        "profile": "data",
        "sample": "data",
        "traffic": "raw_logs",
        "follow": "raw_logs",
        "workload": "data",
    },
    "Try and measure": {
        "demo": "trials",
        "doctor": "trials",
        "reproduce": "trials",
        "bench": "trials",
    },
}
"""The commands in groups, as help shows them: each with its module in this package, where a function has its
name and `NAME_EXAMPLES` are its examples."""
COMMANDS = {name: module for group in GROUPS.values() for name, module in group.items()}
SHORT_HELP = {"help_option_names": ["-h", "--help"]}


def _format_examples(examples: Sequence[str]) -> str:
    """Format examples for the end of a help text; the backspace stops click from joining the lines."""
    heading = "Examples:" if len(examples) > 1 else "Example:"
    return "\n".join(["\b", heading, *(f"  {example}" for example in examples)])


class GroupedCommands(TyperGroup):
    """Lists commands in groups, in the order of the journey from logs to brokers."""

    def format_commands(self, context: Any, formatter: Any) -> None:
        """Write a section for each group."""
        rest = {name: self.commands[name] for name in self.list_commands(context)}
        groups = {title: {name: rest.pop(name) for name in group} for title, group in GROUPS.items()}
        for title, group in {**groups, "Users on brokers": rest}.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name, command.get_short_help_str(limit=90)) for name, command in group.items()]
                )


def build_app(only: str | None = None) -> typer.Typer:
    """Return the program with all commands, or with one: each command imports its own modules."""
    app = typer.Typer(
        name="meshwright",
        epilog=_format_examples(EXAMPLES),
        cls=GroupedCommands,
        context_settings=SHORT_HELP,
        rich_markup_mode=None,  # plain help is fast, and examples keep their lines
        pretty_exceptions_enable=False,
    )
    app.callback(invoke_without_command=True)(meshwright)
    for command in COMMANDS if only is None else {only} & COMMANDS.keys():
        module = import_module(f"meshwright.cli.{COMMANDS[command]}")
        shown = _format_examples(getattr(module, f"{command.upper()}_EXAMPLES"))
        add_command(app, getattr(module, command), shown, context_settings=SHORT_HELP)
    if only in (None, "content"):
        from meshwright.cli.content import content_app

        app.add_typer(content_app(_format_examples), name="content", context_settings=SHORT_HELP)
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


def execute(arguments: Sequence[str]) -> int:
    """Run one command line, and return its exit code."""
    debug = "--debug" in arguments
    words = [word for word in arguments if word != "--debug"]
    only = words[0] if words and words[0] in (*COMMANDS, "content") else None
    try:
        code = build_app(only)(words, prog_name="meshwright", standalone_mode=False)
        sys.stdout.flush()
    except (SystemExit, BrokenPipeError):  # how click and rich react to a closed pipe
        code = CLOSED_PIPE
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:
        if debug:
            traceback.print_exc()
        code = explain(error, " ".join(["meshwright", *([only] if only else [])]))
    if code == INTERRUPTED:
        note("interrupted; nothing was left half-written")
    return code if isinstance(code, int) else DONE
