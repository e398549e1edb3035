"""Joining parts that were planned apart: links among their representatives and the bulk nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from meshwright.greedy import grow
from meshwright.interest import Interest
from meshwright.overlay import Overlay
from meshwright.pipeline.divide_parts import among

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.greedy.rules import Rule
    from meshwright.interest import Ids
    from meshwright.pipeline.divide_parts import Division, Part


def join(
    interest: Interest,
    rule: Rule,
    division: Division,
    planned: list[tuple[Ids, Part]],
    links: list[tuple[Ids, Ids]],
) -> tuple[Ids, Ids, Ids]:
    """Link representatives and bulk nodes until every topic is connected."""
    standing = [nodes[part.representatives] for nodes, part in planned]
    nodes = np.sort(np.concatenate((division.bulk, *standing)))
    small = among(interest, nodes)
    keys = np.unique(np.concatenate([_chains(small, np.searchsorted(nodes, own)) for own in standing]))
    ends = np.concatenate([end for pair in links for end in pair])
    degrees = np.bincount(ends, minlength=interest.num_nodes)
    # One more node, without topics, has the maximum degree of all that are not here.
    small = Interest(
        pa.nulls(len(nodes) + 1),
        small.topic_names,
        np.append(small.node_ptr, small.node_ptr[-1:]),
        small.node_topics,
    )
    start = Overlay(
        small, keys // (len(nodes) + 1), keys % (len(nodes) + 1), np.zeros(len(keys), dtype=np.int32)
    )
    joined = grow(small, rule, start=start, degrees=np.append(degrees[nodes], degrees.max(initial=0)))
    new = slice(len(start), None)
    return nodes[joined.u[new]], nodes[joined.v[new]], joined.contribution[new]


def _chains(small: Interest, own: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return pairs, as u · (nodes + 1) + v, that join a part's representatives wherever the part is joined.

    A part has connected its topics by nodes that are not here; these pairs stand for that. They join nothing
    else: whatever topics such a pair shares, the part has connected.
    """
    mine = among(small, own)
    order = np.argsort(mine.node_topics, kind="stable")
    topic, node = mine.node_topics[order], own[mine.node_of_slot[order]]
    same = topic[1:] == topic[:-1]
    pairs: NDArray[np.int64] = node[:-1][same] * (small.num_nodes + 1) + node[1:][same]
    return pairs
