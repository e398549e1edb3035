"""`meshwright content`: put users on brokers at least cost. The group of its sub-commands."""

from collections.abc import Callable, Sequence

import typer

from meshwright.cli.commands import add_command
from meshwright.cli.content import assign, migrate, workload

EXAMPLES = (
    "meshwright content workload --users 2000 --out workload",
    "meshwright content assign workload --out assignment",
    "meshwright content compare workload",
)


def content_app(shown: Callable[[Sequence[str]], str]) -> typer.Typer:
    """Return the sub-commands; `shown` formats the examples below the options."""
    app = typer.Typer(
        help="Put users on brokers at least cost: content-based publish/subscribe.",
        epilog=shown(EXAMPLES),
        rich_markup_mode=None,
    )
    app.callback(invoke_without_command=True)(_help)
    add_command(app, workload.workload, shown(workload.EXAMPLES))
    add_command(app, assign.assign, shown(assign.ASSIGN_EXAMPLES))
    add_command(app, assign.compare, shown(assign.COMPARE_EXAMPLES))
    add_command(app, assign.exact, shown(assign.EXACT_EXAMPLES))
    add_command(app, migrate.migrate, shown(migrate.EXAMPLES))
    return app


def _help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
