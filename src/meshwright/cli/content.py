"""`meshwright content`: users on brokers at least cost."""

from collections.abc import Callable, Sequence

import typer

from meshwright.cli import content_assign, content_compare, content_exact, content_migrate, content_workload

EXAMPLES = (
    "meshwright content workload --users 2000 --out workload",
    "meshwright content assign workload --out assignment",
    "meshwright content compare workload",
)


def content_app(shown: Callable[[Sequence[str]], str]) -> typer.Typer:
    """Return the sub-commands; `shown` lays examples out below the options."""
    app = typer.Typer(
        help="Put users on brokers at least cost: content-based publish/subscribe.",
        epilog=shown(EXAMPLES),
        rich_markup_mode=None,
        no_args_is_help=True,
    )
    app.command(epilog=shown(content_workload.EXAMPLES))(content_workload.workload)
    app.command(epilog=shown(content_assign.EXAMPLES))(content_assign.assign)
    app.command(epilog=shown(content_compare.EXAMPLES))(content_compare.compare)
    app.command(epilog=shown(content_exact.EXAMPLES))(content_exact.exact)
    app.command(epilog=shown(content_migrate.EXAMPLES))(content_migrate.migrate)
    return app
