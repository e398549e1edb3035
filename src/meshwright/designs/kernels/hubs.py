"""Hubs (CD-Max): one hub per topic, the links that follow, and the hub that raises degrees the least.

Invariant: `server`, `times`, `degree`, `of_degree` and `tally` always describe the links of the current hubs.
Serving or releasing a topic costs its subscribers times the hubs per subscriber; choosing a hub costs the
links among the subscribers.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import NOTHING, Ids, Int, Offsets
from meshwright.jit.compiler import inlined, inner, kernel
from meshwright.jit.simd import place_of

Flags: TypeAlias = NDArray[np.bool_]

TOP, EDGES = 0, 1
"""The fields of `Hubs.tally`."""


class Hubs(NamedTuple):
    """The interest, the hub of each topic, and the links that follow.

    Node v is served by the hubs `server[node_ptr[v]:node_ptr[v] + served[v]]`, each listed once with the
    number of topics in `times`. Two nodes are linked if one of them serves the other.
    """

    node_ptr: Offsets
    """By node: the offset of its topics, and of its servers."""
    topic_ptr: Offsets
    """By topic: the offset of its subscribers in `topic_nodes`."""
    topic_nodes: Ids
    """The subscribers of each topic, ascending."""
    hub: Ids
    """By topic: its hub, or −1."""
    served: Ids
    """By node: the number of hubs that serve it."""
    server: Ids
    """The hubs that serve each node, unordered."""
    times: Ids
    """By entry of `server`: the number of topics in which the hub serves the node."""
    degree: Ids
    """By node: its number of links."""
    of_degree: Ids
    """By degree: the number of nodes with it."""
    tally: Offsets
    """The largest degree, and the number of links."""
    subscribes: Flags
    """By node: whether it subscribes to the topic in question; false between calls."""
    serves: Flags
    """By node: whether it serves the hub in question; false between calls."""
    inside: Ids
    """By node: the number of subscribers of the topic that it is linked to."""
    near: Ids
    """By node: how many of these have reached the level."""
    noted: Offsets
    """Pairs v << 32 | hub of subscribers of the topic in question, where the hub serves v."""


@inlined
def place(held: Hubs, v: Int, hub: Int) -> Int:
    """Return the position of `hub` among the servers of v, or −1."""
    begin = held.node_ptr[v]
    return np.int64(place_of(held.server, begin, begin + held.served[v], hub))


@inlined
def change_degree(held: Hubs, v: Int, by: Int) -> None:
    """Change the degree of a node; the maximum degree only rises here."""
    held.of_degree[held.degree[v]] -= 1
    held.degree[v] += by
    held.of_degree[held.degree[v]] += 1
    held.tally[TOP] = max(held.tally[TOP], held.degree[v])


@inlined
def mark_servers(held: Hubs, hub: Int, serves: bool) -> None:
    """Note which nodes serve the hub of a topic: they stay linked to it whether it serves them or not."""
    for i in range(held.node_ptr[hub], held.node_ptr[hub] + held.served[hub]):
        held.serves[held.server[i]] = serves


@inner
def serve(held: Hubs, topic: Int, hub: Int) -> None:
    """Make a node the hub of a topic."""
    held.hub[topic] = hub
    mark_servers(held, hub, True)
    links = np.int64(0)
    for slot in range(held.topic_ptr[topic], held.topic_ptr[topic + 1]):
        v = np.int64(held.topic_nodes[slot])
        if v == hub:
            continue
        i = place(held, v, hub)
        if i >= 0:
            held.times[i] += 1
            continue
        i = held.node_ptr[v] + held.served[v]
        held.server[i], held.times[i] = hub, 1
        held.served[v] += 1
        if not held.serves[v]:
            change_degree(held, v, np.int64(1))
            links += 1
    mark_servers(held, hub, False)
    change_degree(held, hub, links)
    held.tally[EDGES] += links


@inner
def release(held: Hubs, topic: Int) -> None:
    """Remove the hub of a topic."""
    hub = np.int64(held.hub[topic])
    held.hub[topic] = -1
    mark_servers(held, hub, True)
    links = np.int64(0)
    for slot in range(held.topic_ptr[topic], held.topic_ptr[topic + 1]):
        v = np.int64(held.topic_nodes[slot])
        if v == hub:
            continue
        i = place(held, v, hub)
        held.times[i] -= 1
        if held.times[i] > 0:
            continue
        # The last server takes the free entry.
        held.served[v] -= 1
        last = held.node_ptr[v] + held.served[v]
        held.server[i], held.times[i] = held.server[last], held.times[last]
        if not held.serves[v]:
            change_degree(held, v, np.int64(-1))
            links += 1
    mark_servers(held, hub, False)
    change_degree(held, hub, -links)
    held.tally[EDGES] -= links
    while held.of_degree[held.tally[TOP]] == 0:
        held.tally[TOP] -= 1


@inner
def look_around(held: Hubs, topic: Int, level: Int) -> int:
    """Count the links among the subscribers; return how many of them have reached the level."""
    begin, end = held.topic_ptr[topic], held.topic_ptr[topic + 1]
    reached = 0
    for slot in range(begin, end):
        v = held.topic_nodes[slot]
        held.subscribes[v] = True
        held.inside[v] = held.near[v] = 0
        reached += int(held.degree[v] >= level)
    # Without branches, since few hubs subscribe: what is noted is overwritten if it does not count.
    links = NOTHING
    for slot in range(begin, end):
        v = np.int64(held.topic_nodes[slot])
        for i in range(np.uint64(held.node_ptr[v]), np.uint64(held.node_ptr[v] + held.served[v])):
            server = np.uint64(held.server[i])
            held.noted[links] = v << 32 | np.int64(server)
            links += np.uint64(held.subscribes[server])
    for link in range(links):
        v, hub = held.noted[link] >> 32, held.noted[link] & 0xFFFFFFFF
        # Count a pair that serves each other once.
        if not (v < hub and place(held, hub, v) >= 0):
            held.inside[v] += 1
            held.inside[hub] += 1
            held.near[v] += int(held.degree[hub] >= level)
            held.near[hub] += int(held.degree[v] >= level)
    for slot in range(begin, end):
        held.subscribes[held.topic_nodes[slot]] = False
    return reached


@inner
def choose(held: Hubs, topic: Int, level: Int) -> Int:
    """Return the hub that raises degrees over the level the least, then adds the fewest links.

    Reaching the level is free; ties go to the smallest node.
    """
    begin, end = held.topic_ptr[topic], held.topic_ptr[topic + 1]
    reached = look_around(held, topic, level)
    chosen, least, fewest = np.int64(-1), np.int64(0), np.int64(0)
    for slot in range(begin, end):
        v = np.int64(held.topic_nodes[slot])
        links = end - begin - 1 - held.inside[v]
        highest = max(level, held.degree[v] + links)
        # A subscriber at the level that is not yet linked to v would rise above it.
        if reached - int(held.degree[v] >= level) > held.near[v]:
            highest = max(highest, level + 1)
        if chosen < 0 or highest < least or (highest == least and links < fewest):
            chosen, least, fewest = v, highest, links
    return chosen


@kernel
def serve_all(held: Hubs, order: Ids, hubs: Ids) -> None:
    """Give every topic the given hub, or the best one where the given hub is −1."""
    for i in range(len(order)):
        topic = np.int64(order[i])
        hub = np.int64(hubs[topic])
        serve(held, topic, hub if hub >= 0 else choose(held, topic, held.tally[TOP]))


@kernel
def improve(held: Hubs, order: Ids, most: Int) -> None:
    """Choose the hub of every topic again, at a level of at most `most` and the maximum degree."""
    for i in range(len(order)):
        topic = np.int64(order[i])
        release(held, topic)
        serve(held, topic, choose(held, topic, min(held.tally[TOP], most)))


@kernel
def list_links(held: Hubs, order: Ids, us: Ids, vs: Ids) -> None:
    """Write the links star by star, each once; this consumes `times`."""
    edges = 0
    for i in range(len(order)):
        topic = order[i]
        hub = np.int64(held.hub[topic])
        for slot in range(held.topic_ptr[topic], held.topic_ptr[topic + 1]):
            v = np.int64(held.topic_nodes[slot])
            here = place(held, v, hub) if v != hub else -1
            if here < 0 or held.times[here] == 0:
                continue
            held.times[here] = 0
            there = place(held, hub, v)
            if there < 0 or held.times[there] > 0:
                us[edges], vs[edges] = min(hub, v), max(hub, v)
                edges += 1
