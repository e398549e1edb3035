"""Reproduce: run the papers' evaluations again, and compare with what they state."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.experiments.paper import Paper
    from meshwright.experiments.reproduction import Reproduction
    from meshwright.progress import Progress

__all__ = ["Papers", "Reproduction", "list_papers", "reproduce"]


@dataclass(frozen=True)
class Papers:
    """The papers whose evaluations can be run again."""

    papers: tuple[Paper, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the titles of papers and figures."""
        return {
            "papers": [
                {
                    "key": paper.key,
                    "title": paper.title,
                    "figures": [{"key": figure.key, "title": figure.title} for figure in paper.figures],
                }
                for paper in self.papers
            ]
        }


def list_papers() -> Papers:
    """Return the papers."""
    from meshwright.experiments import paper

    return Papers(tuple(paper.papers().values()))


def reproduce(
    key: str,
    out: Path | None,
    *,
    full: bool = False,
    graphs: Mapping[str, str] | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Run the missing cells of a paper, a figure or `all`; see `experiments.reproduce`.

    `jobs` cells are computed at a time, by default one per core.
    """
    if out is None:
        raise InputError("no folder for the results: add --out DIR")
    from meshwright import experiments

    jobs = jobs or os.cpu_count() or 1
    return experiments.reproduce(key, out, full=full, graphs=graphs, jobs=jobs, progress=progress)
