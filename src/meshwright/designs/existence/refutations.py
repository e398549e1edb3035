"""Proofs that no overlay satisfies a question of podc07: by counting, and from a bound on links.

Nodes that share a topic must reach each other, so must those that share one with these, and so on: each
*cluster* of the interest lies in one piece of any overlay with a finite routing cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshwright.designs.existence import witnesses
from meshwright.formatting import counted

if TYPE_CHECKING:
    from meshwright.designs.existence.decisions import Limits
    from meshwright.interest import Interest


def counting(interest: Interest, limits: Limits) -> str | None:
    """Return why no overlay is within the limits, by counting nodes; None if counting does not tell."""
    clusters = witnesses.clusters(interest)
    largest = max(map(len, clusters), default=1)
    needed = interest.num_nodes - len(clusters)
    if limits.links is not None and needed > limits.links:
        return f"nodes that share topics need {counted(needed, 'link')} or more to reach each other at all"
    # Two nodes in one piece have a link each; of three, one has two.
    least = min(largest - 1, 2)
    if limits.degree is not None and limits.degree < least:
        links = counted(least, "link")
        return f"{largest:,} nodes must reach each other, so that some node has {links} or more"
    if limits.measure == "diameter":
        return _too_far(interest, limits)
    return None


def _too_far(interest: Interest, limits: Limits) -> str | None:
    """Return why some node cannot reach all that share a topic with it in time."""
    counts = witnesses.partner_counts(interest)
    if counts is None or not counts.any():
        return None
    busiest = int(counts.argmax())
    name, most = interest.node_names[busiest].as_py(), int(counts[busiest])
    if limits.cost == 0:
        return f"{name!r} shares a topic with another node, and no two nodes are 0 links apart"
    if limits.cost == 1:
        # The pairs that share a topic are needed, and enough: the question is decided.
        if limits.degree is not None and most > limits.degree:
            return f"{name!r} must be linked to each of the {most:,} nodes that share a topic with it"
        if limits.links is not None and counts.sum() // 2 > limits.links:
            return f"all {counts.sum() // 2:,} pairs that share a topic must be linked"
        return None
    if limits.degree is None:
        return None
    # Moore's bound: in C steps, d links per node lead to d·(1 + (d − 1) + … + (d − 1)^(C−1)) nodes.
    reached, ring = 0, limits.degree
    for _ in range(limits.cost):
        reached += ring
        ring *= limits.degree - 1
        if reached >= most or ring == 0:
            break
    if reached < most:
        nodes, links = counted(reached, "node"), counted(limits.cost, "link")
        return f"{name!r} reaches {nodes} at most within {links}, and needs {most:,}"
    return None


def by_links(interest: Interest, limits: Limits, least: int) -> str | None:
    """Return why no overlay is within the limits, if connecting every topic takes at least `least` links.

    Relays save links. A topic's tree with r relays of degree d or less falls into r·(d − 1) + 1 pieces of
    subscribers at most when they are removed. So r·(d − 1) more links connect the topic without relays, and
    an overlay with a filtering cost of C has at least `least` − C·(d − 1) links.
    """
    if limits.measure != "filtering":
        return None
    nodes = interest.num_nodes
    widest = max(nodes - 1 if limits.degree is None else limits.degree, 1)
    needed = least - limits.cost * (widest - 1)
    if limits.links is not None and needed > limits.links:
        return f"any such overlay has {counted(needed, 'link')} or more"
    if limits.degree is not None and 2 * needed > limits.degree * nodes:
        links = counted(needed, "link")
        return f"any such overlay has {links} or more, {2 * needed / nodes:.2f} per node on average"
    return None
