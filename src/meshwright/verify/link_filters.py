"""Check that links carry the filters that are wanted behind them, by other code than wires them.

The brokers of a tree are laid out so that all below a link stand side by side. What is wanted behind a link
is then the union of that stretch or, in the other direction, of what stands before and after it. A set of
filters is the bits of an integer.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from itertools import accumulate
from operator import or_

from meshwright.errors import first_five
from meshwright.plan_tables import PUBLISHER, GroupTables, TreeTables
from meshwright.verify.filter_groups import Beginnings

Direction = tuple[str, str]
"""Sender and receiver."""


def link_filter_faults(
    trees: TreeTables, tables: GroupTables, carried: Mapping[str, Mapping[Direction, Collection[str]]]
) -> Iterator[str]:
    """Yield a line for each group of filters whose links carry others than are wanted behind them.

    Every carried filter must be wanted behind its link, every wanted one be carried or covered by one that
    is, and none be covered by another. So a message crosses a link once if somebody behind it wants it, and
    never otherwise. Groups of one filter have nothing to choose.
    """
    groups = dict(zip(*(tables.groups.column(name).to_pylist() for name in ("filter", "group")), strict=True))
    sizes = Counter(groups.values())
    held: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in tables.holders.to_pylist():
        if sizes[groups[row["filter"]]] > 1:
            held[groups[row["filter"]]][row["broker"]].add(row["filter"])
    publishers = {
        (row["topic"], row["broker"]) for row in trees.roles.to_pylist() if row["role"] == PUBLISHER
    }
    below: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    roots: dict[str, str] = {}
    sources: dict[str, list[Direction]] = defaultdict(list)
    for row in trees.trees.to_pylist():
        group, parent, child = row["topic"], row["parent"], row["child"]
        if group not in held:
            continue
        if (group, child) in publishers:
            sources[group].append((child, parent))
        elif parent is None:
            roots[group] = child
        else:
            below[group][parent].append(child)
    for group, of in held.items():
        filters = sorted(set().union(*of.values()))
        number = {one: place for place, one in enumerate(filters)}
        own = {broker: _bits(number, some) for broker, some in of.items()}
        wanted = dict(_wanted(roots.get(group), below[group], own))
        wanted |= dict.fromkeys(sources[group], _bits(number, filters))
        found = carried.get(group, {})
        covers = lru_cache(2**12)(Beginnings(filters).covered)
        wrong = [
            f"{sender} → {receiver}"
            for sender, receiver in sorted(wanted.keys() | found.keys())
            if not _fits(wanted.get((sender, receiver)), found.get((sender, receiver)), number, covers)
        ]
        if wrong:
            yield f"links carry other filters of the group {group!r} than are wanted: {first_five(wrong)}"


def _wanted(
    root: str | None, below: Mapping[str, list[str]], own: Mapping[str, int]
) -> Iterator[tuple[Direction, int]]:
    """Yield what is wanted behind each link of a tree, in both directions."""
    order: list[str] = []
    parents: list[tuple[str, str]] = []
    queue = [] if root is None else [root]
    while queue:  # depth first, so that everything below a broker follows it
        here = queue.pop()
        order.append(here)
        queue += below.get(here, ())
        parents += ((here, child) for child in below.get(here, ()))
    first = {broker: place for place, broker in enumerate(order)}
    last, inside = dict(first), {broker: own.get(broker, 0) for broker in order}
    for parent, child in sorted(parents, key=lambda link: -first[link[1]]):
        last[parent] = max(last[parent], last[child])
        inside[parent] |= inside[child]
    sets = [own.get(broker, 0) for broker in order]
    before = [0, *accumulate(sets, or_)]
    after = [*reversed([*accumulate(reversed(sets), or_)]), 0]
    for parent, child in parents:
        yield (parent, child), inside[child]
        yield (child, parent), before[first[child]] | after[last[child] + 1]


def _fits(
    wanted: int | None,
    carried: Collection[str] | None,
    number: Mapping[str, int],
    covers: Callable[[str], int],
) -> bool:
    """Say whether a direction carries exactly what is wanted behind it."""
    if wanted is None or carried is None or not set(carried) <= number.keys():
        return False
    reached = sent = _bits(number, carried)
    for one in carried:
        if "+" in one or "#" in one:
            covered = covers(one)
            if covered & sent != 1 << number[one]:
                return False
            reached |= covered
    return len(set(carried)) == len(carried) and not sent & ~wanted and not wanted & ~reached


def _bits(number: Mapping[str, int], some: Collection[str]) -> int:
    marked = bytearray(len(number) // 8 + 1)
    for one in some:
        marked[number[one] // 8] |= 1 << number[one] % 8
    return int.from_bytes(marked, "little")
