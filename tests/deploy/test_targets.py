"""Targets: what a kind of broker does for an edit, what a plan may ask of it, and where it may be named."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import meshwright
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets import (
    ACCESS,
    DEFAULT_TARGET,
    EDITED,
    GONE,
    LINKS,
    MOVED,
    NOTHING,
    RELOAD,
    RESTART,
    TARGETS,
    Capabilities,
    load_target,
    require_capable,
)
from meshwright.deploy.wiring import Wiring
from meshwright.errors import InputError
from routed_plans import write_routed_plan
from terminal import meshwright as run

ROOT = Path(meshwright.__file__).parent
PRODUCTS = re.compile("|".join(TARGETS), re.IGNORECASE)
MIXED = Wiring(("a", "b"), {("b", "a"): {"x/+": "both", "y": "out"}})


@pytest.mark.parametrize(
    ("settings", "actions"),
    [
        (BrokerSettings(), {LINKS: RESTART, GONE: NOTHING, ACCESS: RELOAD, MOVED: RESTART, EDITED: RESTART}),
        (BrokerSettings(version="2.1"), {LINKS: RELOAD, GONE: NOTHING, ACCESS: RELOAD, MOVED: RESTART}),
        (BrokerSettings("durable"), {LINKS: RESTART, GONE: RESTART, ACCESS: RELOAD}),
        (BrokerSettings("durable", "2.1"), {LINKS: RESTART, GONE: RESTART, ACCESS: RELOAD}),
    ],
)
def test_what_mosquitto_does_for_an_edit(settings: BrokerSettings, actions: dict[str, str]) -> None:
    """2.1 reloads plain links, durable ones need a restart; a link to nobody waits unless it queues."""
    assert {edit: settings.broker.classify(edit, settings) for edit in actions} == actions


def weaken(monkeypatch: pytest.MonkeyPatch, capabilities: Capabilities) -> None:
    """Pretend that brokers have only these capabilities."""
    weak = replace(load_target(DEFAULT_TARGET), capabilities=capabilities)
    monkeypatch.setattr("meshwright.deploy.settings.load_target", lambda _: weak)


@pytest.mark.parametrize(
    ("capabilities", "profile", "named"),
    [
        (Capabilities(wildcards=False), "plain", r"wildcards: 'x/\+'"),
        (Capabilities(directions=frozenset({"out", "in"})), "plain", "directions: 'both'"),
        (Capabilities(no_local=False), "plain", "no_local: a link in both directions"),
        (Capabilities(durable=False), "durable", "durable: queues while a link is down"),
        (Capabilities(longest_filter=2), "plain", r"longest_filter: more than 2 bytes, as 'x/\+'"),
    ],
)
def test_a_missing_capability_is_named(
    monkeypatch: pytest.MonkeyPatch, capabilities: Capabilities, profile: str, named: str
) -> None:
    """A plan that the brokers cannot keep is refused, and the capability that they lack is named."""
    settings = BrokerSettings(profile)
    require_capable(MIXED, settings)
    weaken(monkeypatch, capabilities)
    with pytest.raises(InputError, match=f"Mosquitto cannot keep this plan, it lacks {named}"):
        require_capable(MIXED, settings)


def test_export_and_apply_ask_for_capabilities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a new folder nor a change of one gets files that the brokers cannot keep."""
    plan, folder, other = write_routed_plan(tmp_path), tmp_path / "federation", tmp_path / "other"
    assert run("export", plan, "--to", "mosquitto", "--out", folder).code == 0
    weaken(monkeypatch, Capabilities(no_local=False))
    assert "it lacks no_local" in run("export", plan, "--to", "mosquitto", "--out", other).complaint
    assert "it lacks no_local" in run("apply", plan, folder, "--profile", "durable").complaint
    assert not other.exists()


def test_every_target_can_be_loaded() -> None:
    """Each target has the name under which it is listed; another name is refused with the known ones."""
    assert [load_target(name).name for name in TARGETS] == [*TARGETS]
    with pytest.raises(InputError, match="no target 'x': choose one of mosquitto"):
        load_target("x")


def neutral_files() -> list[Path]:
    """Return the files of `deploy` outside of its targets and hosts."""
    room = ROOT / "deploy"
    inner = [path.relative_to(room) for path in room.rglob("*.py")]
    return [room / path for path in inner if path.parts[0] not in ("targets", "hosts")]


@pytest.mark.parametrize("file", neutral_files(), ids=lambda file: file.name)
def test_deployment_names_no_broker_product(file: Path) -> None:
    """Outside of targets and hosts, no file of `deploy` names a product: in no code, comment or docstring."""
    assert not PRODUCTS.search(file.read_text(encoding="utf-8"))


def named_in(tree: ast.Module) -> Iterator[str]:
    """Yield every import, name and text of a program that names a product; docstrings count as text."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            module = getattr(node, "module", None) or ""
            yield from (f"import {module}.{alias.name}" for alias in node.names)
        for field in ("id", "arg", "attr", "name"):
            if isinstance(name := getattr(node, field, None), str):
                yield name
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield repr(node.value)


@pytest.mark.parametrize("name", ["apply", "diff", "export", "federation", "lint", "route"])
def test_actions_name_a_product_only_as_the_value_of_an_option(name: str) -> None:
    """An action of deployment may have the plain name of a target as a text, and names no product else."""
    tree = ast.parse((ROOT / "actions" / f"{name}.py").read_text(encoding="utf-8"))
    found = {text for text in named_in(tree) if PRODUCTS.search(text)}
    assert found <= {repr(target) for target in TARGETS}


def test_commands_name_a_product_only_to_people() -> None:
    """A command may name a product in its help, and in the option of that name; it imports none."""
    tree = ast.parse((ROOT / "cli" / "deploy.py").read_text(encoding="utf-8"))
    found = {text for text in named_in(tree) if PRODUCTS.search(text)}
    assert found
    allowed = {*TARGETS, "MosquittoVersion", "import meshwright.cli.options.MosquittoVersion"}
    assert {text for text in found if not text.startswith(("'", '"'))} <= allowed
