"""MQTT filters: the time to find overlap groups, and planning on groups next to planning on plain topics."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.cases_and_floors import FILTERS, GROUPING, Case
from benchmarks.page import FLOOR, Page, figure
from benchmarks.resources import cpu_seconds
from meshwright.filters.filter_plan import plan_filters
from meshwright.filters.groups import group_numbers
from meshwright.greedy import grow, rules

DEPTH, WILD = 6, 0.01
"""Levels of the longest filter, and the share of filters with wildcards."""
FEW, MANY = 20, 1000
"""Names at each level: with few, wildcards join most filters; with many, few."""


def random_filters(count: int, names: int, seed: int = 0) -> list[str]:
    """Return distinct filters, 1% of them with `+` or `#`; the same seed gives the same filters."""
    random = np.random.Generator(np.random.PCG64(seed))
    found: dict[str, None] = {}
    while len(found) < count:
        more = count - len(found)
        depths = random.integers(2, DEPTH + 1, more)
        levels = random.integers(0, names, (more, DEPTH))
        wild, places = random.random(more) < WILD, random.random(more)
        for number in range(more):
            words = [f"n{level}" for level in levels[number, : depths[number]]]
            if wild[number]:
                # Not at the first level: a filter such as `+/x` is what --expand is for.
                words[1 + int(places[number] * (len(words) - 1))] = "+" if places[number] < 0.7 else "#"
                words = words[: words.index("#") + 1] if "#" in words else words
            found["/".join(words)] = None
    return list(found)


def measure_grouping(case: Case) -> dict[str, Any]:
    """Find the groups of as many filters as the case has topics, with few and with many names."""
    record: dict[str, Any] = {}
    for kind, names in (("few", FEW), ("many", MANY)):
        seconds, numbers = cpu_seconds(partial(group_numbers, random_filters(case.topics, names)))
        record[kind] = {"seconds": seconds, "groups": len(set(numbers))}
    return record


def measure_planning(case: Case) -> dict[str, Any]:
    """Plan the same subscriptions twice by GM: with plain topics, and with filters, on their groups."""
    grow(case.workload(seed=1, most_nodes=200), rules.gm)
    plain = case.workload()
    names = pa.array(sorted(random_filters(plain.num_topics, FEW), key=str.encode))
    filters = replace(plain, topic_names=names)
    derive, planned = cpu_seconds(partial(plan_filters, filters))
    on_plain, one = cpu_seconds(partial(grow, plain, rules.gm), runs=2)
    on_groups, other = cpu_seconds(partial(grow, planned.groups, rules.gm), runs=2)
    return {
        "derive": derive,
        "plain": on_plain,
        "groups": on_groups,
        "topics": planned.groups.num_topics,
        "links": [len(one), len(other)],
    }


TASKS = {GROUPING: measure_grouping, FILTERS: measure_planning}


def add_tables(page: Page) -> None:
    """Add the tables on groups and on planning with them."""
    rows = [
        [
            f"{case.topics:,}", kind, f"{it[kind]['groups']:,}", figure(it[kind]["seconds"]),
            *page.floor(it[kind]["seconds"], "≤", case.grouping_seconds),
        ]
        for case, it in page.measured(GROUPING)
        for kind in ("few", "many")
    ]  # fmt: skip
    page.table(
        "Overlap groups of MQTT filters",
        f"CPU seconds to find the groups of filters of up to {DEPTH} levels, {WILD:.0%} with wildcards, with "
        f"few ({FEW}) and many ({MANY}) names at each level.",
        ["filters", "names", "groups", "seconds", *FLOOR],
        rows,
    )
    rows = []
    for case, it in page.measured(FILTERS):
        ratio = it["groups"] / it["plain"]
        cells = [case.name, f"{it['topics']:,}", figure(it["derive"]), figure(it["plain"])]
        rows.append(
            [*cells, figure(it["groups"]), figure(ratio), *page.floor(ratio, "≤", case.groups_over_plain)]
        )
    page.table(
        "Planning on groups of filters",
        "CPU seconds of GM for the same subscriptions: with plain topics, and with as many filters, 1% of "
        "them with wildcards, on their groups. Finding the groups comes on top.",
        ["case", "groups", "finding groups s", "plain s", "groups s", "groups / plain", *FLOOR],
        rows,
    )
