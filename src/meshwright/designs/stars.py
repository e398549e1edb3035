"""What the constant-diameter designs share: a star for each topic, hubs chosen by a score (icdcs10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.designs.layout import bit_set, lay_out_topics, most_topics
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from meshwright.designs.kernels.scores import Scores
    from meshwright.interest import Ids, Interest

    Score: TypeAlias = Literal["neighbours", "weight", "density"]


def stars(interest: Interest, score: Score) -> Overlay:
    """Link the node of the largest score to all who share a remaining topic with it; its topics are done.

    Edges are in the order of the hubs, then of the nodes that they are linked to.
    """
    columns, _ = link_stars(interest, score)
    return Overlay(interest, *columns)


def link_stars(interest: Interest, score: Score) -> tuple[list[Ids], Ids]:
    """Return the edges u, v and their contributions, and each topic's hub, −1 for a topic that needs none."""
    from meshwright.designs.kernels.scores import DENSITY, NEIGHBOURS, WEIGHT
    from meshwright.designs.kernels.stars import Scratch, link_hubs

    kind = {"neighbours": NEIGHBOURS, "weight": WEIGHT, "density": DENSITY}[score]
    scores, most = _scores(interest), most_topics(interest)
    scratch = Scratch(
        own=np.empty(most, dtype=np.int32),
        rows=np.empty(most, dtype=np.uint32),
        union=bit_set(interest.num_nodes),
        common=np.zeros(interest.num_nodes, dtype=np.int32),
    )
    columns = [np.empty(interest.num_subscriptions, dtype=np.int32) for _ in range(3)]
    edges = link_hubs(lay_out_topics(interest), scores, scratch, np.int64(kind), *columns)
    return [column[:edges] for column in columns], scores.hub


def _scores(interest: Interest) -> Scores:
    """Return the scores before they are known."""
    from meshwright.designs.kernels.scores import Scores

    nodes = interest.num_nodes
    weight, fewest, over, under = (np.zeros(nodes, dtype=np.int64) for _ in range(4))
    leaves = 1 << max(nodes - 1, 0).bit_length()
    winner = np.full(2 * leaves, -1, dtype=np.int32)
    winner[leaves : leaves + nodes] = np.arange(nodes)
    return Scores(
        remaining=np.diff(interest.topic_ptr) >= 2,
        hub=np.full(interest.num_topics, -1, dtype=np.int32),
        weight=weight,
        topics=np.zeros(nodes, dtype=np.int32),
        fewest=fewest,
        over=over,
        under=under,
        exact=np.zeros(nodes, dtype=np.bool_),
        winner=winner,
    )
