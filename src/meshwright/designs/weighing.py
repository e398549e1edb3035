"""What Greedy Merge and Low-ODA share where links cost something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from meshwright import weighted
from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.greedy import Progress
    from meshwright.greedy.rules import Rule
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay


def weigh(
    interest: Interest,
    rule: Rule,
    costs: weighted.LinkCosts,
    *,
    max_edges: int | None = None,
    max_degree: int | None = None,
    threads: int = 1,
    progress: Progress | None = None,
    **options: Any,
) -> Overlay:
    """Grow by contribution over cost; it runs on one thread whatever `threads` is.

    Raises
    ------
    InputError
        For any other option of the engine.
    """
    barred = sorted(name for name, value in options.items() if value is not None)
    if barred:
        raise InputError(f"{' and '.join(barred)} and costs cannot be combined: leave one of them out")
    return weighted.grow(interest, rule, costs, max_edges=max_edges, max_degree=max_degree, progress=progress)
