"""What the two uses of `meshwright federation`, proof and churn, share: the run, its outcome, its verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from meshwright.deploy import BrokerSettings
    from meshwright.deploy.federation.plan import FederationPlan
    from meshwright.deploy.federation.verdict import Verdict
    from meshwright.progress import Progress


@dataclass(frozen=True)
class FederationRun:
    """A federation to run, and where."""

    plan: FederationPlan
    settings: BrokerSettings
    folder: Path
    """The folder for the brokers' folders and logs."""
    temporary: Path
    """A folder that is deleted at the end."""
    progress: Progress


class Outcome(NamedTuple):
    """The answer of a command."""

    figures: dict[str, Any]
    """For JSON."""
    lines: list[str]
    """For people."""
    passed: bool


def format_verdict(verdict: Verdict) -> list[str]:
    """Return lines with the counts, the first five faults of each kind, and latency by hops."""
    from meshwright.formatting import duration

    lines = [
        f"{verdict.published:,} messages, {verdict.expected:,} deliveries due: "
        f"{len(verdict.missing):,} missing, {len(verdict.duplicate):,} duplicate, "
        f"{len(verdict.leaked):,} leaked"
    ]
    for kind, faults in (
        ("missing", verdict.missing), ("duplicate", verdict.duplicate), ("leaked", verdict.leaked)
    ):  # fmt: skip
        for topic, origin, broker in faults[:5]:
            lines.append(f"  {kind}: {topic!r} published at {origin!r}, at {broker!r}")
    for hops, (count, mean, usual) in verdict.latency.items():
        distance = f"{hops} hop{'' if hops == 1 else 's'}"
        lines.append(
            f"  {distance}: {duration(mean)} on average, {duration(usual)} for 95 % ({count:,} deliveries)"
        )
    return lines
