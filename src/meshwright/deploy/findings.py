"""Findings: what is wrong with existing configurations, each with its place and a way to repair it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

STORM, DUPLICATE, FAULT, WARNING = SEVERITIES = "storm", "duplicate", "fault", "warning"
"""Messages circle; messages arrive twice; something does not work; something is dangerous."""


class Place(NamedTuple):
    """A line of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong."""

    severity: str
    kind: str
    """A short name, such as `loop`."""
    place: Place
    text: str
    fix: str
    brokers: tuple[str, ...] = ()
    """The brokers of a loop, in order."""
    filters: tuple[str, ...] = ()

    @property
    def is_severe(self) -> bool:
        """Whether messages circle or arrive twice."""
        return self.severity in (STORM, DUPLICATE)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding for a JSON answer."""
        return {
            "severity": self.severity,
            "kind": self.kind,
            "file": self.place.file,
            "line": self.place.line,
            "text": self.text,
            "fix": self.fix,
            "brokers": list(self.brokers),
            "filters": list(self.filters),
        }

    def __str__(self) -> str:
        return f"{self.place}: {self.severity}: {self.text}; {self.fix}"


@dataclass(frozen=True)
class Inspection:
    """What configurations hold, and what is wrong with them."""

    brokers: tuple[str, ...]
    links: int
    wanted: tuple[tuple[str, str], ...]
    """Broker and filter for what links bring to each broker, sorted."""
    findings: tuple[Finding, ...]
    """The worst first."""
