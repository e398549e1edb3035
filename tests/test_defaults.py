"""Defaults of public functions are part of what callers rely on: none changes by accident.

`pytest tests/test_defaults.py --record` records them again after a deliberate change; the changelog names it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import meshwright
from meshwright.designs.registry import DESIGNS

SOURCE = Path(meshwright.__file__).parent
ROOMS = [file.parent for file in sorted(SOURCE.rglob("__init__.py")) if "__all__" in file.read_text("utf-8")]
Require = Callable[..., None]
FURTHER = (
    "pipeline.readers.formats.Reading",
    "pipeline.dataset.publications.Publications",
    "search.ruin_and_recreate.RuinAndRecreate",
    "designs.existence.Existence",
    "designs.existence.soc_exists",
    "designs.existence.tco_exists",
    "deploy.folder_store.write_federation",
    "deploy.graph_files.export",
    "deploy.inventory.Endpoint",
    "deploy.inventory.Inventory",
    "deploy.inventory.read_inventory",
    "deploy.manifest.DeployedFederation",
    "deploy.manifest.read_federation",
    "deploy.named_trees.NamedTrees",
    "deploy.named_trees.TopicTree",
    "deploy.named_trees.read_named_trees",
    "deploy.settings.BrokerSettings",
    "deploy.wiring.Wiring",
    "deploy.wiring.rewire",
    "deploy.wiring.wire",
    "filters.filter_plan.FilterChoice",
    "filters.filter_plan.PlannedFilters",
    "filters.filter_plan.catch_alls",
    "filters.filter_plan.plan_filters",
    "filters.groups.group_numbers",
    "filters.groups.overlap_groups",
    "filters.mqtt.check_filters",
    "filters.mqtt.covers",
    "filters.mqtt.example",
    "filters.mqtt.examples",
    "filters.mqtt.has_wildcard",
    "filters.mqtt.matches",
    "filters.mqtt.meet",
    "filters.mqtt.overlaps",
    "filters.mqtt.unshared",
    "filters.mqtt.why_invalid",
    "filters.mqtt.why_unusable",
    "filters.mqtt.without_covered",
)
"""What callers of public functions make or call, and that no room lists."""


def public_defaults() -> dict[str, str]:
    """Return the defaults of each public function, class, method or design that has some."""
    found: dict[str, str] = {}
    for room in ROOMS:
        package = import_module(".".join(room.relative_to(SOURCE.parent).parts))
        for name in getattr(package, "__all__", ()):
            thing = getattr(package, name)
            if (getattr(thing, "__module__", None) or "").startswith("meshwright"):
                found |= _defaults_of(thing)
    for place in (*FURTHER, *(f"designs.{design.function}" for design in DESIGNS.values())):
        module, _, name = place.rpartition(".")
        found |= _defaults_of(getattr(import_module(f"meshwright.{module}"), name))
    return found


def _defaults_of(thing: Any) -> dict[str, str]:
    """Return the defaults of a function, or those of a class and its public methods."""
    found: dict[str, str] = {}
    parts = [thing]
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return found
    if inspect.isclass(thing):
        parts += [part for name, part in vars(thing).items() if not name.startswith("_")]
    for part in parts:
        function = getattr(part, "__func__", part)
        if inspect.isclass(function) or inspect.isfunction(function):
            given = inspect.signature(function).parameters.values()
            known = [
                f"{each.name}={_spell(each.default)}" for each in given if each.default is not each.empty
            ]
            if known:
                found[f"{function.__module__}.{function.__qualname__}"] = ", ".join(known)
    return found


def _spell(default: Any) -> str:
    """Spell a default without addresses of objects."""
    return re.sub(r" at 0x\w+", "", getattr(default, "__qualname__", repr(default)))


def test_defaults_are_those_that_were_recorded(golden: Require) -> None:
    """A public function that is called without options does the same as before."""
    golden("defaults", public_defaults())
