"""`meshwright content`: put users on brokers at least cost. The group of its sub-commands."""

from collections.abc import Callable, Sequence

import typer

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
    app.command(epilog=shown(workload.EXAMPLES))(workload.workload)
    app.command(epilog=shown(assign.ASSIGN_EXAMPLES))(assign.assign)
    app.command(epilog=shown(assign.COMPARE_EXAMPLES))(assign.compare)
    app.command(epilog=shown(assign.EXACT_EXAMPLES))(assign.exact)
    app.command(epilog=shown(migrate.EXAMPLES))(migrate.migrate)
    return app


def _help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
