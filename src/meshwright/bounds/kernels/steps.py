"""Steps of the prices on a pool of tight pairs.

Only +, −, ×, ÷ and square roots, which every machine rounds alike, and sums in a fixed order: the same prices
on every machine. So e^z is (1 + z/64)⁶⁴, and ln y is 64·(y^(1/64) − 1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.bounds.kernels.loads import NONE, mark_topics, unmark_topics
from meshwright.jit.compiler import inlined, kernel

if TYPE_CHECKING:
    from meshwright.arrays import Ids, Offsets
    from meshwright.bounds.kernels.loads import Floats, Int, Relation


@kernel
def count_shared(relation: Relation, us: Ids, vs: Ids, mark: Ids, ptr: Offsets) -> None:
    """Write into `ptr` where the shared topics of each pair begin; pairs with the same u stand together.

    `ptr[0]` is 0 and `mark` −1 throughout, before and after.
    """
    for pair in range(len(us)):
        u, v = us[pair], vs[pair]
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


NOTHING, HALF, ONE, SIXTY_FOUR = np.float32(0), np.float32(0.5), np.float32(1), np.float32(64)
NEGLIGIBLE = np.float32(-14)
"""Below this exponent a pair has no weight."""
TINY = np.float32(1e-9)
LEAST_PRICE = np.float32(1e-7)
FLOOR = np.float32(0.02)
"""Keeps the logarithm of a strain finite."""
LONGEST = np.float32(0.5)
"""No step changes a price by more than this share of it."""


@inlined
def power(z: np.float32) -> np.float32:
    """Return nearly e^z, for z up to some 10; 0 for z below −64."""
    y = ONE + z / SIXTY_FOUR
    y = y if y > NOTHING else NOTHING
    for _ in range(6):
        y *= y
    return y


@inlined
def logarithm(y: np.float32) -> np.float32:
    """Return nearly ln y, for y from some 1/100 to some 100."""
    for _ in range(6):
        y = np.sqrt(y)
    return SIXTY_FOUR * (y - ONE)


@kernel
def strain_of(
    ptr: Offsets,
    ours: Ids,
    theirs: Ids,
    weight: Floats,
    first: Int,
    last: Int,
    price: Floats,
    eta: np.float32,
    cap: np.float32,
    sharpness: np.float32,
    strain: Floats,
) -> None:
    """Add up for each slot the weights of the pairs `first` to `last` that its price loads.

    A pair that carries L weighs e^(η·(L − 1)), the exponent at most `cap`, times its own `weight`. It goes to
    the larger price in each topic, or in parts to both when they differ by less than 1/`sharpness` of it.
    """
    for slot in range(len(strain)):
        strain[slot] = NOTHING
    for pair in range(first, last):
        carried = NOTHING
        for i in range(ptr[pair], ptr[pair + 1]):
            a, b = price[ours[i]], price[theirs[i]]
            carried += a if a > b else b
        z = eta * (carried - ONE)
        if z < NEGLIGIBLE:
            continue
        x = weight[pair] * power(z if z < cap else cap)
        for i in range(ptr[pair], ptr[pair + 1]):
            a, b = price[ours[i]], price[theirs[i]]
            larger = a if a > b else b
            part = HALF + HALF * sharpness * (a - b) / (larger if larger > TINY else TINY)
            part = part if part > NOTHING else NOTHING
            part = part if part < ONE else ONE
            strain[ours[i]] += x * part
            strain[theirs[i]] += x - x * part


@kernel
def move(strains: Floats, price: Floats, momentum: Floats, rate: np.float32, persistence: np.float32) -> None:
    """Raise the prices whose strain is below 1 and lower the others, by its logarithm; 0 stays 0.

    `strains` has a row for each part of the pool; the first becomes their sum.
    """
    for part in range(1, len(strains)):
        for slot in range(len(price)):
            strains[0, slot] += strains[part, slot]
    for slot in range(len(price)):
        momentum[slot] = persistence * momentum[slot] - logarithm(strains[0, slot] + FLOOR)
        step = rate * momentum[slot]
        step = step if step < LONGEST else LONGEST
        step = step if step > -LONGEST else -LONGEST
        moved = price[slot] * (ONE + step + HALF * step * step)
        moved = moved if moved < ONE else ONE
        moved = moved if moved > LEAST_PRICE else LEAST_PRICE
        price[slot] = moved if price[slot] > NOTHING else NOTHING
