"""Plan: an overlay together with how it was made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from meshwright import measure
from meshwright.overlay import Overlay
from meshwright.spelling import amount, duration, percentage
from meshwright.weighted import LinkCosts, total_cost

Parameter: TypeAlias = int | float | str | None


@dataclass(frozen=True, eq=False)
class Plan:
    """The answer of `design`: the overlay, the algorithm with its parameters, and the time it took."""

    overlay: Overlay
    algorithm: str
    parameters: Mapping[str, Parameter]
    seed: int
    seconds: float
    costs: LinkCosts | None = None
    """What links cost, whether or not the algorithm looked at it."""

    @cached_property
    def figures(self) -> dict[str, int | float]:
        """What `plan.json` states: nodes, topics, edges, average and maximum degree, support, seconds.

        The total cost is there where links cost something.
        """
        overlay = self.overlay
        degrees = measure.degrees(overlay)
        return {
            "nodes": overlay.interest.num_nodes,
            "topics": overlay.interest.num_topics,
            "edges": len(overlay),
            "average_degree": degrees.average,
            "max_degree": degrees.maximum,
            "support": measure.support(overlay),
            "seconds": self.seconds,
            **({} if self.costs is None else {"total_cost": total_cost(overlay, self.costs)}),
        }

    @property
    def stated_parameters(self) -> dict[str, Parameter]:
        """The parameters as JSON can hold them: there is no infinity in JSON."""
        return {
            name: str(value) if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in self.parameters.items()
        }

    def summary(self) -> str:
        """Return the figures as a few lines of text."""
        figures = self.figures
        told = ", ".join(f"{name} = {value}" for name, value in self.parameters.items())
        return "\n".join(
            [
                f"{self.algorithm}{f' ({told})' if told else ''}: {figures['edges']:,} links "
                f"over {figures['nodes']:,} nodes and {figures['topics']:,} topics",
                f"degree: {figures['average_degree']:.2f} on average, {figures['max_degree']} at most",
                f"support: {percentage(figures['support'])} of what a complete overlay connects",
                *([] if self.costs is None else [f"cost: {amount(figures['total_cost'])} in all"]),
                f"time: {duration(self.seconds)}",
            ]
        )
