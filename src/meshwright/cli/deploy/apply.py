"""`meshwright diff` and `meshwright apply`: show what a new plan changes, and change a federation to it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from meshwright.actions.apply import ChangeChoice
from meshwright.cli.commands import Words
from meshwright.cli.options import BROKER_WORDS, AllowRelays, Json, Secret

DIFF_EXAMPLES = (
    "meshwright diff plan new-plan",
    "meshwright diff federation new-plan --mosquitto 2.1",
    "meshwright diff federation plan --drift",
    "meshwright diff plan new-plan --markdown",
)

APPLY_EXAMPLES = (
    "meshwright apply new-plan federation --inventory brokers.csv --dry-run",
    "meshwright apply new-plan federation --inventory brokers.csv",
    "meshwright apply new-plan federation --wave next",
)

SHOWN_DRIFT = 5
"""Differences that are shown without --drift."""


def diff(
    old: Annotated[str, typer.Argument(metavar="OLD", help="A plan with trees, or a federation's folder.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="A plan with trees.")],
    *,
    version: Annotated[
        str | None,
        typer.Option(
            "--mosquitto",
            metavar="2.0|2.1",
            help="The oldest Mosquitto in use; by default that of OLD if it is a federation, else 2.0.",
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="plain|durable",
            help="The profile of bridges; by default that of OLD if it is a federation, else plain.",
        ),
    ] = None,
    secret: Secret = None,
    drift: Annotated[
        bool,
        typer.Option(
            "--drift",
            help="List what was changed by hand in OLD, a federation's folder; exit code 1 if anything was.",
        ),
    ] = False,
    allow_relays: AllowRelays = False,
    markdown: Annotated[
        bool,
        typer.Option(
            "--markdown/--no-markdown",
            help="Print Markdown, for the review of a change; by default only with a project file.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Show what changes between two plans: on which broker, in which order, by restart or reload.

    For each topic, removals happen before additions. A broker that joins dials its neighbours. Mosquitto 2.0
    loads changed bridges when the dialling broker restarts, 2.1 when it reloads. The files of a federation
    are compared with what was written; the repair of what was changed by hand comes first.
    """
    from meshwright.actions.diff import diff as compare
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO

    found = compare(
        old, new, profile=profile, version=version, secret=secret, allow_relays=allow_relays, drift=drift
    )
    if json:
        output.answer_json(found.to_dict())
    elif markdown and not drift:
        output.answer(*found.markdown.splitlines())
    else:
        shown = found.drift if drift else found.drift[:SHOWN_DRIFT]
        left = len(found.drift) - len(shown)
        more = [f"… and {left} more: see --drift"] if left else []
        output.answer(*(f"drift: {each}" for each in shown), *more, *found.lines)
    if drift and found.drift:
        raise typer.Exit(ANSWER_IS_NO)


Choice: TypeAlias = Annotated[
    ChangeChoice,
    Words(
        **BROKER_WORDS,
        profile=("plain|durable", "Change the profile; every broker restarts."),
        version=("2.0|2.1", "Change the version; every broker restarts.", {"flag": "--mosquitto"}),
        wave=(
            "N|next",
            "Write only the files of this wave, and say what to restart or reload; go on with next.",
        ),
        staged=("DIR", "Write the files of every wave to this folder; change nothing else."),
        dry_run="Explain the changes, and change nothing.",
    ),
]


def apply(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="The new plan, with trees.")],
    federation: Annotated[
        Path,
        typer.Argument(metavar="FEDERATION", help="The folder that export, or federation --keep, wrote."),
    ],
    *,
    choice: Choice,
    yes: Annotated[bool, typer.Option("--yes", help="Change running brokers without asking.")] = False,
    json: Json = False,
) -> None:
    """Explain what a new plan changes, then update a federation's folders, and its brokers if they run here.

    If `meshwright federation --keep` runs brokers from this folder, they are started, restarted and stopped
    in the order explained, after you agree or with --yes. Otherwise only the folders change, and you perform
    the steps. With --wave, the files of one wave are written at a time, and the folder remembers how far you
    are. Applying a plan a second time changes nothing.
    """
    from meshwright.actions.apply import plan_apply
    from meshwright.cli import output

    with plan_apply(plan, federation, choice) as change:
        output.notes(change.notes)
        if change.disturbs and not yes:
            _ask_first(federation, change.explain(), json=json)
        applied = change.perform()
    output.show(applied, *applied.lines, json=json)


def _ask_first(federation: Path, changes: Sequence[str], *, json: bool) -> None:
    """Show the changes of running brokers and ask; without a terminal, require --yes."""
    import sys

    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO
    from meshwright.errors import InputError

    if json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(
            f"the brokers of {federation} are running and would change: add --yes, or see --dry-run first"
        )
    for line in changes:
        output.note(line)
    if not typer.confirm(f"Change the running brokers of {federation}?", err=True):
        output.note("nothing was changed")
        raise typer.Exit(ANSWER_IS_NO)
