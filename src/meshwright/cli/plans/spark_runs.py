"""Plan on Spark with progress, and say how the plan was made there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.cli.progress_bar import ProgressBar

if TYPE_CHECKING:
    from meshwright.designs.plan import Parameter
    from meshwright.interest import Interest
    from meshwright.pipeline.planning.construct import Construction

WAYS_ON_SPARK = {
    "driver": "on this machine only",
    "waves": "exactly, with rows counted on executors",
    "parts": "by divide and conquer",
}
"""How a plan was made on Spark, in words."""


def check_on_spark(
    algorithm: str,
    given: Mapping[str, Parameter],
    parts: int | None,
    coverage: int | None,
    costs: Path | None,
    conf: Sequence[str] | None,
) -> None:
    """Refuse options that do not work on Spark, before any long work."""
    from meshwright.actions.spark import SparkOptions
    from meshwright.errors import InputError
    from meshwright.pipeline.planning.construct import check

    SparkOptions(conf=conf or ()).settings()  # the session may not be needed, and then nobody reads them
    if costs is not None:
        raise InputError("--costs and Spark cannot be combined: leave one of them out")
    check(algorithm, {name: value for name, value in given.items() if value is not None}, parts, coverage)


def make_on_spark(
    interest: Interest,
    algorithm: str,
    given: Mapping[str, Parameter],
    *,
    master: str | None,
    conf: Sequence[str] | None,
    connect_timeout: float,
    parts: int | None,
    coverage: int | None,
    seed: int,
    threads: int,
    progress: bool,
) -> Construction:
    """Plan on Spark, with progress on stderr; the session starts only if it is needed."""
    from meshwright.actions.spark import SparkOptions
    from meshwright.designs.registry import find
    from meshwright.pipeline.planning.construct import construct

    with ProgressBar(find(algorithm).title, forced=progress) as drawing:
        return construct(
            interest,
            algorithm,
            lambda: SparkOptions(master, conf or (), connect_timeout).open(),
            parameters=given,
            parts=parts,
            coverage=coverage,
            seed=seed,
            threads=threads,
            progress=drawing,
        )


def construction_fields(done: Construction) -> dict[str, Any]:
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


def construction_lines(done: Construction) -> list[str]:
    """Return how a plan was made and its loss, as lines."""
    lines = [f"planned {WAYS_ON_SPARK[done.choice.way]}: {done.choice.why}"]
    if done.waves:
        lines.append(f"waves: {', '.join(f'{rows:,}' for rows in done.waves)} rows")
    if done.loss is not None:
        sample = f"a sample of {done.loss.nodes:,} brokers, planned both ways"
        lines.append(f"extra links: {done.loss.share:+.1%} on {sample}")
    return lines
