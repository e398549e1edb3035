"""The constant-diameter designs CD-ODA, CD-ODA-I and CD-ODA-II: a star for each topic (icdcs10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.designs.topic_sets import bit_set, lay_out_topics, most_topics
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from meshwright.arrays import Ids
    from meshwright.designs.kernels.stars import Scores
    from meshwright.interest import Interest

    Score: TypeAlias = Literal["neighbours", "weight", "density"]


def stars(interest: Interest, score: Score) -> Overlay:
    """Link the node with the largest score to all that share an open topic with it, and close its topics.

    Edges are in the order of the hubs, then of their neighbours.
    """
    columns, _ = link_stars(interest, score)
    return Overlay(interest, *columns)


def link_stars(interest: Interest, score: Score) -> tuple[list[Ids], Ids]:
    """Return the edges u, v with their contributions, and the hub of each topic (−1: no hub needed)."""
    from meshwright.designs.kernels.stars import DENSITY, NEIGHBOURS, WEIGHT, Scratch, link_hubs

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
    """Return the initial scores, all unknown."""
    from meshwright.designs.kernels.stars import Scores

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


def cd(interest: Interest) -> Overlay:
    """Make the node with the most neighbours a hub, close its topics, and repeat.

    The neighbours of a node are the other nodes that share an open topic with it.

    Guarantee: every topic is connected by a star, so its diameter is at most 2 (icdcs10, section VI and
    Lemma 7); no bound on links. Complexity: O(|V|²·|T|) in the paper (Lemma 6); here a node's neighbours are
    counted in O(|T(v)|·|V|/64), and only when it may be the next hub.
    """
    return stars(interest, "neighbours")


def cd1(interest: Interest) -> Overlay:
    """Make the node with the largest weight of neighbours a hub, close its topics, and repeat.

    The weight of a neighbour is the number of open topics that it shares.

    Guarantee: every topic is connected by a star, so its diameter is at most 2 (icdcs10, section VI-A
    and Lemma 7); no bound on links. Complexity: O(|V|²·|T|) in the paper (Lemma 6); here O(Σ|T(v)|) for the
    weights, O(log |V|) for each leading node, and O(|V|/64) for each hub and each of its topics.
    """
    return stars(interest, "weight")


def cd2(interest: Interest) -> Overlay:
    """Make the node of the highest density a hub, close its topics, and repeat.

    The density is the average number of open topics that a neighbour shares.

    Guarantee: every topic is connected by a star, so its diameter is at most 2 (icdcs10, section VI-B
    and Lemma 7); no bound on links: at most 1.8 times GM's in the paper's Fig. 5. Complexity: O(|V|²·|T|) in
    the paper (Lemma 6); here a node's neighbours are counted in O(|T(v)|·|V|/64), and only when it may be
    the next hub.
    """
    return stars(interest, "density")
