"""Planning on Spark: `meshwright plan` with --master or --parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.cli.progress import ProgressDrawing
from meshwright.cli.spark import open_session
from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.designs.plan import Parameter
    from meshwright.interest import Interest
    from meshwright.pipeline.planning.construct import Construction

TITLES = {
    "driver": "on this machine only",
    "waves": "exactly, with rows counted on executors",
    "parts": "by divide and conquer",
}


def check(
    algorithm: str,
    given: Mapping[str, Parameter],
    parts: int | None,
    coverage: int | None,
    costs: Path | None,
) -> None:
    """Refuse options that do not work on Spark, before any long work."""
    from meshwright.pipeline.planning.construct import check

    if costs is not None:
        raise InputError("--costs and Spark cannot be combined: leave one of them out")
    check(algorithm, {name: value for name, value in given.items() if value is not None}, parts, coverage)


def make(
    interest: Interest,
    algorithm: str,
    given: Mapping[str, Parameter],
    *,
    master: str | None,
    conf: Sequence[str] | None,
    parts: int | None,
    coverage: int | None,
    seed: int,
    threads: int,
    progress: bool,
) -> Construction:
    """Plan on Spark, with progress on stderr; the session starts only if it is needed."""
    from meshwright.designs import find
    from meshwright.pipeline.planning.construct import construct

    with ProgressDrawing(find(algorithm).title, forced=progress) as drawing:
        return construct(
            interest,
            algorithm,
            lambda: open_session(master, conf),
            parameters=given,
            parts=parts,
            coverage=coverage,
            seed=seed,
            threads=threads,
            progress=drawing,
        )


def describe_json(done: Construction) -> dict[str, Any]:
    """Return how a plan was made, for a JSON answer."""
    lost = done.loss
    return {
        "way": done.choice.way,
        "why": done.choice.why,
        "wave_rows": list(done.waves),
        "loss": None
        if lost is None
        else {"sample_nodes": lost.nodes, "exact": lost.exact, "divided": lost.divided, "share": lost.share},
    }


def describe_lines(done: Construction) -> list[str]:
    """Return how a plan was made and its loss, as lines."""
    lines = [f"planned {TITLES[done.choice.way]}: {done.choice.why}"]
    if done.waves:
        lines.append(f"waves: {', '.join(f'{rows:,}' for rows in done.waves)} rows")
    if done.loss is not None:
        sample = f"a sample of {done.loss.nodes:,} brokers, planned both ways"
        lines.append(f"extra links: {done.loss.share:+.1%} on {sample}")
    return lines
