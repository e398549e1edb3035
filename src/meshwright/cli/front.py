"""`meshwright plan --front`: the whole trade-off between links and highest degree."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from meshwright.designs.plan import Parameter
    from meshwright.interest import Interest


SECONDS = 60.0
"""For how long the trade-off is searched unless told."""


def check_front(algorithm: str, **barred: Parameter) -> None:
    """Refuse what makes no sense with --front, before any long work."""
    from meshwright.errors import InputError
    from meshwright.report.chart_file import check_matplotlib

    if algorithm != "best":
        raise InputError(f"{algorithm} has no --front: leave it out, or take --algorithm best")
    for name, value in barred.items():
        if value is not None:
            raise InputError(f"--front goes through all of the trade-off: leave --{name} out")
    check_matplotlib()


def plan_front(
    source: str,
    interest: Interest,
    out: Path,
    seconds: float | None,
    steps: int | None,
    seed: int,
    threads: int,
    *,
    certify: bool,
    progress: bool,
    json: bool,
) -> None:
    """Find the front, write it and tell it."""
    from meshwright.cli import designing, output
    from meshwright.cli.progress import ProgressDrawing
    from meshwright.designs import front
    from meshwright.report import comparison, write_front

    with ProgressDrawing("Best", forced=progress) as drawing:
        plans = front(
            interest,
            seconds=SECONDS if seconds is None else seconds,
            steps=steps,
            seed=seed,
            certify=certify,
            threads=threads,
            progress=drawing,
        )
    title = f"{source}: {designing.told(interest)}"
    write_front(plans, out, title=title)
    if json:
        output.answer_json({"front": str(out), "plans": [designing.described(plan) for plan in plans]})
    else:
        output.answer(title, comparison(plans), f"written to {out}: a plan for each row, and front.png")
