"""Social workloads: who follows whom, where each user is a subscriber and a topic at once (icdcs16)."""

from __future__ import annotations

import numpy as np

from meshwright.arrays import settled
from meshwright.errors import InputError
from meshwright.interest import MOST_SUBSCRIPTIONS, Interest
from meshwright.workloads.distributions import Sizes, check_count, zipf_popularity
from meshwright.workloads.draw import below, choose, fixed_point
from meshwright.workloads.synthetic import numbered

COMMUNITY = 100
"""Users of a community: they mostly follow each other."""


def social(
    users: int,
    *,
    alpha: float = 1.0,
    size: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    exponent: float = 1.5,
    locality: float = 0.5,
    both_ways: bool = False,
    seed: int = 0,
) -> Interest:
    """Let every user follow others: node u subscribes to topic v if u follows v.

    A user makes between `min_size` and `max_size` choices, by a power law with the given `exponent`, or
    exactly `size` choices (10 by default). On average, the share `locality` of the choices falls on the
    user's community of a hundred users with neighbouring numbers. The others fall on anyone: on the i-th most
    popular user with probability ∝ i^−alpha, where popularity is assigned at random. A user chosen twice is
    followed once, so a user may follow slightly fewer users than it made choices. Nobody follows itself. With
    `both_ways` everybody follows back, as friends do. Names are u0, u1, …, padded with zeros.

    >>> interest = social(1000, min_size=5, max_size=100, seed=1)
    >>> interest, interest.topics_of("u007")[:3]
    (Interest(1000 nodes, 1000 topics, 18159 subscriptions), ['u030', 'u061', 'u073'])
    """
    sizes = Sizes.of(size, min_size, max_size, exponent)
    if users < 2:
        raise InputError(f"{users} users: give at least 2, so that each user has somebody to follow")
    check_count(users, "users")
    if sizes.maximum >= users:
        raise InputError(
            f"up to {sizes.maximum} choices for each of {users} users: give a smaller size or more users"
        )
    if not 0 <= locality <= 1:
        raise InputError(f"a locality of {locality}: give a share from 0 to 1")
    if seed < 0:
        raise InputError(f"a seed of {seed}: give an integer of at least 0")
    stream = np.random.PCG64(seed)
    popular = np.argsort(stream.random_raw(users), kind="stable")  # the most popular user first
    asked = sizes.minimum + choose(stream.random_raw(users), fixed_point(sizes.probabilities))
    choices = int(asked.sum())
    if choices * (1 + both_ways) > MOST_SUBSCRIPTIONS:
        raise InputError(f"{choices} choices: at most 2³¹ − 1 subscriptions fit; give fewer users")
    follower = np.repeat(np.arange(users), asked)
    near = below(stream.random_raw(choices), np.int64(1_000_000)) < round(locality * 1_000_000)
    first = follower // COMMUNITY * COMMUNITY
    neighbour = first + below(stream.random_raw(choices), np.minimum(COMMUNITY, users - first))
    anyone = popular[choose(stream.random_raw(choices), fixed_point(zipf_popularity(users, alpha)))]
    followed = np.where(near, neighbour, anyone)
    followed = np.where(followed == follower, (followed + 1) % users, followed)
    pairs = follower * users + followed
    if both_ways:
        pairs = np.concatenate((pairs, followed * users + follower))
    pairs.sort()  # then drop repeats; np.unique hashes and takes ten times as long
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    pointers = np.searchsorted(pairs, np.arange(users + 1) * users)
    names = numbered("u", users)
    return Interest(names, names, settled(pointers), settled((pairs % users).astype(np.int32)))
