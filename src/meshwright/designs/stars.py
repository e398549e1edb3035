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
    """Link the node of the largest score to all who share a remaining topic with it; its topics are done.

    Edges are in the order of the hubs, then of the nodes that they are linked to.
    """
    columns, _ = link_stars(interest, score)
    return Overlay(interest, *columns)


def link_stars(interest: Interest, score: Score) -> tuple[list[Ids], Ids]:
    """Return the edges u, v and their contributions, and each topic's hub, −1 for a topic that needs none."""
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
    """Return the scores before they are known."""
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
    """Link the node with the most neighbours to all of them; its topics are done; go on with the rest.

    A node's neighbours are the others that share a remaining topic with it.

    Guarantee: every topic is connected by a star, so that its diameter is at most 2 (icdcs10, section VI and
    Lemma 7); no bound on links. Complexity: O(|V|²·|T|) in the paper (Lemma 6); here a node's neighbours are
    counted in O(|T(v)|·|V|/64), and only when it may be the next hub.
    """
    return stars(interest, "neighbours")


def cd1(interest: Interest) -> Overlay:
    """Link the node whose neighbours weigh most to all of them; its topics are done; go on with the rest.

    A neighbour weighs as much as it shares remaining topics.

    Guarantee: every topic is connected by a star, so that its diameter is at most 2 (icdcs10, section VI-A
    and Lemma 7); no bound on links. Complexity: O(|V|²·|T|) in the paper (Lemma 6); here O(Σ|T(v)|) for the
    weights, O(log |V|) for each node that leads, and O(|V|/64) for each hub and topic of it.
    """
    return stars(interest, "weight")


def cd2(interest: Interest) -> Overlay:
    """Link the node of the highest density to all its neighbours; its topics are done; go on with the rest.

    The density is the number of remaining topics that a neighbour shares, on average.

    Guarantee: every topic is connected by a star, so that its diameter is at most 2 (icdcs10, section VI-B
    and Lemma 7); no bound on links: at most 1.8 times GM's in the paper's Fig. 5. Complexity: O(|V|²·|T|) in
    the paper (Lemma 6); here a node's neighbours are counted in O(|T(v)|·|V|/64), and only when it may be
    the next hub.
    """
    return stars(interest, "density")
