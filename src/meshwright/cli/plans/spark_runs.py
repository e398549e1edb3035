"""Plan in parts on Spark with progress, and say where a plan was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from meshwright.cli.progress_bar import ProgressBar

if TYPE_CHECKING:
    from meshwright.designs.plan import Parameter
    from meshwright.interest import Interest
    from meshwright.pipeline.plans.parts import PlanInParts

DRIVER: dict[str, object] = {
    "way": "driver",
    "why": "only plans in parts run on Spark (--parts P)",
    "loss": None,
}
"""How a plan with the options of Spark is made without --parts, for a JSON answer."""
DRIVER_LINE = f"planned on this machine: {DRIVER['why']}"


def check_on_spark(
    algorithm: str,
    given: Mapping[str, Parameter],
    parts: int | None,
    coverage: int | None,
    costs: object,
    conf: Sequence[str] | None,
) -> None:
    """Refuse options that do not work on Spark, before any long work."""
    from meshwright.actions.spark import SparkOptions
    from meshwright.errors import InputError
    from meshwright.pipeline.plans.parts import check_parts

    SparkOptions(conf=conf or ()).settings()  # the session may not be needed, and then nobody reads them
    if parts is None:
        return
    if costs is not None:
        raise InputError("--costs and --parts cannot be combined: leave one of them out")
    check_parts(
        algorithm, {name: value for name, value in given.items() if value is not None}, parts, coverage
    )


def make_in_parts(
    interest: Interest,
    algorithm: str,
    given: Mapping[str, Parameter],
    *,
    master: str | None,
    conf: Sequence[str] | None,
    connect_timeout: float,
    parts: int,
    coverage: int | None,
    seed: int,
    progress: bool,
) -> PlanInParts:
    """Plan in parts on Spark, with progress on stderr."""
    from meshwright.actions.spark import SparkOptions
    from meshwright.designs.registry import find
    from meshwright.pipeline.plans.parts import plan_in_parts

    with ProgressBar(find(algorithm).title, forced=progress) as drawing:
        return plan_in_parts(
            interest,
            algorithm,
            lambda: SparkOptions(master, conf or (), connect_timeout).open(),
            parts=parts,
            coverage=coverage,
            parameters=given,
            seed=seed,
            progress=drawing,
        )


def parts_fields(done: PlanInParts) -> dict[str, object]:
    """Return how a plan in parts was made, and its loss, for a JSON answer."""
    lost = done.loss
    loss = {"sample_nodes": lost.nodes, "exact": lost.exact, "divided": lost.divided, "share": lost.share}
    return {"way": "parts", "why": _parts_given(done), "loss": loss}


def parts_lines(done: PlanInParts) -> list[str]:
    """Return how a plan in parts was made, and its loss, as lines."""
    sample = f"a sample of {done.loss.nodes:,} brokers, planned both ways"
    return [
        f"planned by divide and conquer: {_parts_given(done)}",
        f"extra links: {done.loss.share:+.1%} on {sample}",
    ]


def _parts_given(done: PlanInParts) -> str:
    return f"--parts {done.plan.stated_parameters['parts']} was given"
