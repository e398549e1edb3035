"""Lint: find what storms, duplicates or does not work in existing configurations of brokers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.formatting import counted

if TYPE_CHECKING:
    from meshwright.deploy.findings import Inspection


@dataclass(frozen=True)
class LintResult:
    """What is wrong with existing configurations."""

    found: Inspection
    dataset: Path | None = None
    """Where the subscriptions that the links serve were written."""

    @property
    def passed(self) -> bool:
        """Whether no message circles or arrives twice."""
        return not any(finding.is_severe for finding in self.found.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return the result for a JSON answer."""
        return {
            "brokers": len(self.found.brokers),
            "bridges": self.found.links,
            "findings": [finding.to_dict() for finding in self.found.findings],
            "dataset": self.dataset and str(self.dataset),
        }

    @property
    def lines(self) -> list[str]:
        """Lines for people."""
        findings = self.found.findings
        return [
            *map(str, findings),
            f"{counted(len(self.found.brokers), 'broker')}, {counted(self.found.links, 'bridge')}: "
            + (counted(len(findings), "finding") if findings else "nothing found"),
            *([] if self.dataset is None else [f"what the bridges carry is written to {self.dataset}"]),
        ]


def lint(
    configurations: Sequence[str | Path],
    *,
    inventory: str | Path | None = None,
    dataset: Path | None = None,
    target: str | None = None,
) -> LintResult:
    """Read configurations of brokers, follow their links to each other, and find what is wrong.

    A folder that `export` wrote knows the addresses of its brokers; an inventory names those of others. What
    the links bring to each broker is written as a `dataset`, if a place for it is given.

    Raises
    ------
    InputError
        If there is no configuration.
    FormatError
        If a file is not a configuration.
    OutputError
        If the dataset cannot be written.
    """
    from meshwright.deploy.inventory import read_inventory
    from meshwright.deploy.manifest import exported_addresses
    from meshwright.deploy.targets import DEFAULT_TARGET, load_target
    from meshwright.files.atomic import check_target

    if dataset is not None:
        check_target(dataset, "dataset")
    hosts = exported_addresses(configurations)
    if inventory is not None:
        endpoints = read_inventory(inventory).endpoints
        hosts |= {broker: (endpoint.host.lower(), endpoint.port) for broker, endpoint in endpoints.items()}
    found = load_target(target or DEFAULT_TARGET).lint(configurations, hosts)
    if dataset is not None:
        _write_dataset(found, dataset, sources=sorted(map(str, configurations)))
    return LintResult(found, dataset)


def _write_dataset(found: Inspection, dataset: Path, *, sources: list[str]) -> None:
    """Write what links bring to each broker as subscriptions."""
    from meshwright.interest import Interest
    from meshwright.names import MQTT
    from meshwright.store.datasets import write_dataset

    interest = Interest.from_pairs(
        [broker for broker, _ in found.wanted],
        [held for _, held in found.wanted],
        all_nodes=found.brokers,
    )
    write_dataset(interest, dataset, sources=sources, made_by={"command": "lint"}, topic_kind=MQTT)
