"""Everything that is claimed of an overlay, found again by other code than made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from meshwright.measure.connectivity import Components, components, share
from meshwright.measure.contribution import contributions
from meshwright.measure.degree import Degrees, degrees
from meshwright.progress import Progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.overlay import Overlay


@dataclass(frozen=True, eq=False)
class Verification:
    """What is true of an overlay.

    `split_topics` are the ids of the topics whose subscribers are in more than one component, and
    `contributions_agree` tells whether the overlay's contributions are those that its edges have in order
    (an edge that merges nothing has 0).
    """

    split_topics: NDArray[np.int64]
    components: Components
    support: float
    degrees: Degrees
    contributions_agree: bool

    @property
    def connected(self) -> bool:
        """Whether every topic is in one piece."""
        return len(self.split_topics) == 0


def verify(overlay: Overlay, *, progress: Progress | None = None) -> Verification:
    """Measure an overlay from its edges alone: by scipy's connected components, not by the engine's state."""
    found = components(overlay, progress=progress)
    recounted = contributions(overlay.interest, overlay.u, overlay.v)
    return Verification(
        split_topics=np.flatnonzero(found.of_topic > 1),
        components=found,
        support=share(overlay.interest, found),
        degrees=degrees(overlay),
        contributions_agree=bool(np.array_equal(recounted, overlay.contribution)),
    )
