"""MQTT topic filters: syntax, matching, cover, overlap groups, and the interest of brokers in groups."""

from meshwright.filters.filter_plan import FilterChoice, PlannedFilters, catch_alls, plan_filters
from meshwright.filters.groups import group_numbers, overlap_groups
from meshwright.filters.mqtt import (
    check_filters,
    covers,
    example,
    examples,
    has_wildcard,
    looks_like_filters,
    matches,
    meet,
    overlaps,
    unshared,
    why_invalid,
    why_unusable,
    without_covered,
)

__all__ = [
    "FilterChoice",
    "PlannedFilters",
    "catch_alls",
    "check_filters",
    "covers",
    "example",
    "examples",
    "group_numbers",
    "has_wildcard",
    "looks_like_filters",
    "matches",
    "meet",
    "overlap_groups",
    "overlaps",
    "plan_filters",
    "unshared",
    "why_invalid",
    "why_unusable",
    "without_covered",
]
