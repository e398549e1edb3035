"""The compiled steps of the ascent of prices, on a pool of tight pairs.

Every machine must find the same prices. So the steps use only +, −, ×, ÷ and square roots, which IEEE 754
rounds alike everywhere, and add up in a fixed order: e^z is (1 + z/64)⁶⁴, and ln y is 64·(y^(1/64) − 1).
Invariant: a price of 0 stays 0, any other stays between LEAST_PRICE and 1. Cost of a step: the shared topics
of all pairs of the pool, twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meshwright.arrays import Ids, Int, Offsets
from meshwright.bounds.load_kernels import NONE, Floats, Relation, mark_topics, unmark_topics
from meshwright.jit.compiler import inlined, kernel

NOTHING, HALF, ONE, SIXTY_FOUR = np.float32(0), np.float32(0.5), np.float32(1), np.float32(64)
NEGLIGIBLE = np.float32(-14)
"""Below this exponent a pair has no weight."""
TINY = np.float32(1e-9)
LEAST_PRICE = np.float32(1e-7)
FLOOR = np.float32(0.02)
"""Keeps the logarithm of a strain finite."""
LONGEST = np.float32(0.5)
"""No step changes a price by more than this share of it."""


class Pool(NamedTuple):
    """Some pairs u < v, each with the topics that both subscribe to. Pairs with the same u are adjacent."""

    u: Ids
    """By pair: the lower node."""
    v: Ids
    """By pair: the upper node."""
    weight: Floats
    """By pair: how many pairs like it the pair stands for."""
    ptr: Offsets
    """By pair: where its shared topics begin in `ours` and `theirs`."""
    ours: Ids
    """By shared topic: the slot of u."""
    theirs: Ids
    """By shared topic: the slot of v."""


@kernel
def count_shared(relation: Relation, us: Ids, vs: Ids, mark: Ids, ptr: Offsets) -> None:
    """Write into `ptr` where the shared topics of each pair begin; pairs with the same u are adjacent.

    `ptr[0]` is 0 and `mark` −1 everywhere, before and after.
    """
    for pair in range(len(us)):
        u, v = us[pair], vs[pair]
        # Pairs with the same u are adjacent: its topics are marked once for all of them.
        if pair == 0 or us[pair - 1] != u:
            mark_topics(relation, u, mark)
        shared = 0
        for slot in range(relation.node_ptr[v], relation.node_ptr[v + 1]):
            shared += mark[relation.node_topics[slot]] != NONE
        ptr[pair + 1] = ptr[pair] + shared
        if pair + 1 == len(us) or us[pair + 1] != u:
            unmark_topics(relation, u, mark)


@kernel
def fill_shared(
    relation: Relation, us: Ids, vs: Ids, mark: Ids, ptr: Offsets, ours: Ids, theirs: Ids
) -> None:
    """Write the slots of u and of v for each topic that they share, where `count_shared` has made room."""
    for pair in range(len(us)):
        u, v = us[pair], vs[pair]
        if pair == 0 or us[pair - 1] != u:
            mark_topics(relation, u, mark)
        filled = ptr[pair]
        for slot in range(relation.node_ptr[v], relation.node_ptr[v + 1]):
            own = mark[relation.node_topics[slot]]
            if own != NONE:
                ours[filled], theirs[filled] = own, slot
                filled += 1
        if pair + 1 == len(us) or us[pair + 1] != u:
            unmark_topics(relation, u, mark)


@inlined
def power(z: np.float32) -> np.float32:
    """Return nearly e^z, for z up to about 10; 0 for z below −64."""
    y = ONE + z / SIXTY_FOUR
    y = y if y > NOTHING else NOTHING
    # Six squarings make the 64th power.
    for _ in range(6):
        y *= y
    return y


@inlined
def logarithm(y: np.float32) -> np.float32:
    """Return nearly ln y, for y from about 1/100 to about 100."""
    # Six square roots make the 64th root.
    for _ in range(6):
        y = np.sqrt(y)
    return SIXTY_FOUR * (y - ONE)


@kernel
def add_strain(
    pool: Pool,
    first: Int,
    last: Int,
    price: Floats,
    extra: Floats,
    eta: np.float32,
    cap: np.float32,
    sharpness: np.float32,
    strain: Floats,
    pull: Floats,
) -> None:
    """Write into `strain`, for each slot, the weights of the pairs `first` to `last` that its price loads.

    A pair that carries L weighs e^(η·(L − 1)), the exponent at most `cap`, times its own `weight`. In each
    topic the weight goes to the larger price, or in parts to both if they differ by less than 1/`sharpness`
    of it: without that, two equal prices would be raised and lowered in turn. What the ends of a pair allow
    it beyond 1, `extra` by node, does not count as carried. `pull` gets each node's weights of pairs.
    """
    ptr, ours, theirs = pool.ptr, pool.ours, pool.theirs
    for slot in range(len(strain)):
        strain[slot] = NOTHING
    for node in range(len(pull)):
        pull[node] = NOTHING
    for pair in range(first, last):
        # First pass: what the pair carries, which decides its weight.
        carried = NOTHING
        for i in range(ptr[pair], ptr[pair + 1]):
            a, b = price[ours[i]], price[theirs[i]]
            carried += a if a > b else b
        u, v = pool.u[pair], pool.v[pair]
        z = eta * (carried - (extra[u] + extra[v]) - ONE)
        if z < NEGLIGIBLE:
            continue
        x = pool.weight[pair] * power(z if z < cap else cap)
        pull[u] += x
        pull[v] += x
        # Second pass: divide the weight between the two prices of each shared topic.
        for i in range(ptr[pair], ptr[pair + 1]):
            a, b = price[ours[i]], price[theirs[i]]
            larger = a if a > b else b
            # The share of u: 1/2 for equal prices, clipped to 0 … 1 where they differ enough.
            part = HALF + HALF * sharpness * (a - b) / (larger if larger > TINY else TINY)
            part = part if part > NOTHING else NOTHING
            part = part if part < ONE else ONE
            strain[ours[i]] += x * part
            strain[theirs[i]] += x - x * part


@kernel
def move(
    strains: Floats,
    price: Floats,
    momentum: Floats,
    rate: np.float32,
    persistence: np.float32,
    highest: np.float32,
) -> None:
    """Raise the prices whose strain is below 1 and lower the others, by its logarithm; 0 stays 0.

    No price exceeds `highest`. `strains` has a row for each part of the pool; the first becomes their sum.
    """
    for part in range(1, len(strains)):
        for slot in range(len(price)):
            strains[0, slot] += strains[part, slot]
    for slot in range(len(price)):
        # A strain of 1 is balance: its logarithm is 0, apart from the floor.
        momentum[slot] = persistence * momentum[slot] - logarithm(strains[0, slot] + FLOOR)
        step = rate * momentum[slot]
        step = step if step < LONGEST else LONGEST
        step = step if step > -LONGEST else -LONGEST
        # Nearly price · e^step, to the second order.
        moved = price[slot] * (ONE + step + HALF * step * step)
        moved = moved if moved < highest else highest
        moved = moved if moved > LEAST_PRICE else LEAST_PRICE
        price[slot] = moved if price[slot] > NOTHING else NOTHING
