"""The `meshwright` command: how a function becomes a sub-command, their help, and how one is run.

Groups of options become single ones, and help shows them by group. A parameter stands for a group of options,
and the command receives one object, if its type is

- a typed input of an action, with `Words` for each option;
- anything with `as_options`.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Limits:
...     most: int = 3
>>> def count(limits: Annotated[Limits, Words(most=("N", "The most."))] = Limits()) -> int:
...     return limits.most
>>> str(inspect.signature(with_single_options(count))).partition("=")[2]
' 3) -> int'
>>> with_single_options(count)(most=5)
5
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from typing import Annotated, Any, TypeAlias, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from meshwright.actions.project import PROJECT_COMMANDS, arguments_for, project_here
from meshwright.cli.exit_codes import ANSWER_IS_NO, CLOSED_PIPE, DONE, INTERRUPTED, explain
from meshwright.cli.output import PROGRESS_WANTED, Answer, answer_json, note
from meshwright.errors import EmptySourceError
from meshwright.formatting import escape_terminal

Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]

PROJECT = "meshwright.project"
"""Where a command keeps the project file that it reads."""


class Words:
    """How the fields of an action's typed input are options: for each, its metavar and help, or help alone.

    Names, types and defaults are those of the fields; one without words is no option. A third word has
    further settings of the option; `flag` is another name.
    """

    def __init__(self, **words: str | tuple[Any, ...]) -> None:
        self.words = words

    def options_of(self, group: type) -> list[inspect.Parameter]:
        """Return the options."""
        fields = {field.name: field for field in dataclasses.fields(group)}
        hints, options = get_type_hints(group), []
        for name, given in self.words.items():
            metavar, text, *more = (None, given) if isinstance(given, str) else given
            settings = {"flag": f"--{name.replace('_', '-')}", **(more[0] if more else {})}
            option = typer.Option(settings.pop("flag"), metavar=metavar, help=text, **settings)
            kind, default = Annotated[hints[name], option], _default(fields[name])
            options.append(
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            )
        return options


def with_single_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command whose groups of options are single parameters, as typer wants them."""
    given = inspect.signature(command, eval_str=True)
    groups: dict[str, tuple[Callable[..., Any], list[str]]] = {}
    single: list[inspect.Parameter] = []
    for parameter in given.parameters.values():
        group, *further = get_args(parameter.annotation) or [parameter.annotation]
        words = next((each for each in further if isinstance(each, Words)), None)
        if words is None and not hasattr(group, "as_options"):
            single.append(parameter)
            continue
        options = group.as_options() if words is None else words.options_of(group)
        groups[parameter.name] = group, [option.name for option in options]
        single += options

    @wraps(command)
    def run(**values: Any) -> Any:
        for name, (group, options) in groups.items():
            values[name] = group(**{option: values.pop(option) for option in options if option in values})
        return command(**values)

    positional = [each for each in single if each.kind is not each.KEYWORD_ONLY]
    named = [each for each in single if each.kind is each.KEYWORD_ONLY]
    run.__signature__ = given.replace(parameters=[*positional, *named])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in single}
    del run.__wrapped__  # typer would look at the signature of the command
    return run


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def answering(command: Callable[..., Answer]) -> Callable[..., None]:
    """Return a command that prints its answer, as JSON with --json.

    The exit code is 1 if the answer is no, or if there are no subscriptions to answer about. A command gets
    the option --json if it has no parameter for it.
    """
    own = inspect.signature(command)
    takes_json = "json" in own.parameters

    @wraps(command)
    def run(*, json: bool = False, **values: Any) -> None:
        try:
            answer = command(**values, json=json) if takes_json else command(**values)
        except EmptySourceError as error:
            note(str(error))
            if json:
                answer_json({"source": error.source, "subscriptions": 0})
            raise typer.Exit(ANSWER_IS_NO) from error
        answer.show(json=json)
        if not answer.passed:
            raise typer.Exit(ANSWER_IS_NO)

    if not takes_json:
        option = inspect.Parameter("json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json)
        run.__signature__ = own.replace(parameters=[*own.parameters.values(), option])  # type: ignore[attr-defined]
        run.__annotations__ = {**command.__annotations__, "json": Json}
    return run


class CommandWithGroups(TyperCommand):
    """A command whose help has a section for each group of options.

    If no argument is given, its parameters are those of the nearest project file, if there is one.
    """

    def parse_args(self, context: Any, args: list[str]) -> list[str]:
        """Read the command line; the project file gives what it leaves out."""
        if self.name in PROJECT_COMMANDS and not context.resilient_parsing:
            given, more, _ = self.make_parser(context).parse_args(list(args))
            arguments = [each.name for each in self.params if each.param_type_name == "argument"]
            named = any(isinstance(given.get(name), str) for name in arguments)
            if not (named or more or given.get("help")):
                project = project_here()
                if project is not None:
                    context.meta[PROJECT] = project
                    context.default_map = arguments_for(self.name, project)
        return super().parse_args(context, args)

    def format_options(self, context: Any, formatter: Any) -> None:
        """Write the sections, those of this command's own options first."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for given in self.get_params(context):
            record = given.get_help_record(context)
            if record is not None:
                own = "Options" if given.param_type_name == "option" else "Arguments"
                title = getattr(given, "rich_help_panel", None) or own
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def add_command(app: typer.Typer, command: Callable[..., Answer], epilog: str, **settings: Any) -> None:
    """Add a function to the program, as a command of its name."""
    made = answering(with_single_options(command))
    app.command(cls=CommandWithGroups, epilog=epilog, **settings)(made)


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
        "certify": "check",
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
    progress: Annotated[
        bool,
        typer.Option("--progress", help="Show progress even without a terminal. Works after a command too."),
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
    PROGRESS_WANTED.set("--progress" in arguments)
    words = [word for word in arguments if word not in ("--debug", "--progress")]
    only = words[0] if words and words[0] in (*COMMANDS, "content") else None
    try:
        code = build_app(only)(words, prog_name="meshwright", standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:  # how typer reacts to Ctrl-C in a command
            raise KeyboardInterrupt
    except (SystemExit, BrokenPipeError):  # how click and rich react to a closed pipe
        code = CLOSED_PIPE
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
        note("interrupted; nothing was left half-written")
    except Exception as error:
        if debug:
            sys.stderr.write(escape_terminal(traceback.format_exc()))
        code = explain(error, " ".join(["meshwright", *([only] if only else [])]))
    return code if isinstance(code, int) else DONE
