"""Export: write a plan for brokers, or for other programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.deploy.inventory import Inventory
    from meshwright.deploy.named_trees import NamedTrees
    from meshwright.deploy.settings import BrokerSettings
    from meshwright.deploy.wiring import Wiring


@dataclass(frozen=True)
class BrokerChoice:
    """What an operator chooses for the brokers of a federation."""

    inventory: Path | None = None
    """The file with their addresses; by default all are on this machine."""
    profile: str = "plain"
    version: str = ""
    """The oldest version of the brokers; by default the oldest that is known."""
    secret: Path | None = None
    """The file with the secret that passwords are derived from."""
    insecure: bool = False
    """Whether brokers may be open beyond this machine."""
    allow_relays: bool = False
    fragment: bool = False
    """Whether brokers have a configuration of their own."""

    def settings(self, target: str) -> BrokerSettings:
        """Return the settings of brokers of a kind, with the secret from its file."""
        from meshwright.deploy.passwords import read_secret
        from meshwright.deploy.settings import BrokerSettings

        secret = None if self.secret is None else read_secret(self.secret)
        return BrokerSettings(self.profile, self.version, secret, fragment=self.fragment, target=target)


@dataclass(frozen=True)
class GraphExport:
    """A plan as one file for another program."""

    plan: str
    to: str
    file: Path
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the result for a JSON answer."""
        return {"plan": self.plan, "to": self.to, "file": str(self.file)}

    @property
    def lines(self) -> list[str]:
        """Lines for people."""
        return [f"written to {self.file}"]


@dataclass(frozen=True)
class BrokerExport:
    """A plan as the configuration of brokers, one folder for each."""

    plan: str
    to: str
    out: Path
    wiring: Wiring
    required: Mapping[str, list[str]] | None = None
    """What the configuration of each broker must provide, for fragments."""
    explained: tuple[str, ...] = ()
    """The steps that change a federation that was there."""
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the result for a JSON answer."""
        required = {} if self.required is None else {"required": self.required}
        return {"plan": self.plan, "to": self.to, **self.wiring.figures(), **required, "out": str(self.out)}

    @property
    def lines(self) -> list[str]:
        """Lines for people."""
        where = (
            "plan.md there explains how to start and change the brokers"
            if self.required is None
            else "required.md in each folder says what its broker must provide"
        )
        return [
            self.wiring.size,
            *(f"{broker}: {line}" for broker, lines in (self.required or {}).items() for line in lines),
            *self.explained,
            f"written to {self.out}; {where}",
        ]


def export(
    plan: str | Path, to: str, out: Path, choice: BrokerChoice | None = None
) -> BrokerExport | GraphExport:
    """Write a plan as the configuration of brokers of a kind, or as one file for another program.

    In the folder of an existing federation, only our own files change, and brokers keep their addresses.

    Raises
    ------
    InputError
        For an unknown kind, a plan that the brokers cannot run, or a change of an existing federation that
        needs several waves.
    OutputError
        If something else is in the way.
    """
    from meshwright.deploy.targets import TARGETS

    choice = choice or BrokerChoice()
    if to in TARGETS:
        return _export_brokers(str(plan), to, out, choice)
    from meshwright.deploy.graph_files import export as write_graph

    _refuse_broker_options(to, choice)
    return GraphExport(str(plan), to, write_graph(plan, to, out))


def _export_brokers(plan: str, target: str, out: Path, choice: BrokerChoice) -> BrokerExport:
    """Write the folders of all brokers, new or in a federation that is there."""
    from meshwright.deploy.folder_store import require_stopped, write_federation
    from meshwright.deploy.named_trees import read_named_trees
    from meshwright.deploy.settings import require_protected
    from meshwright.deploy.targets import require_capable
    from meshwright.deploy.wiring import wire
    from meshwright.files.atomic import check_free, check_place
    from meshwright.files.header import FEDERATION

    check_free(out, FEDERATION)
    check_place(out)
    require_stopped(out)
    trees = read_named_trees(plan, allow_relays=choice.allow_relays)
    settings = choice.settings(target)
    explained: list[str] = []
    if out.exists() and any(out.iterdir()):
        wiring, inventory, explained, notes = _rewrite(trees, settings, out, choice)
    else:
        # Of two brokers, the less trusted one dials: who listens can put messages into the one that dials.
        places = _inventory(choice, trees.brokers).endpoints
        wiring = wire(trees, sorted(trees.brokers, key=lambda broker: -places[broker].trust))
        inventory = _inventory(choice, wiring.order)
        require_capable(wiring, settings)
        notes = require_protected(inventory, settings, insecure=choice.insecure)
        write_federation(trees, wiring, inventory, settings, out)
    required = settings.broker.check_existing(wiring, inventory, settings) if choice.fragment else None
    return BrokerExport(plan, target, out, wiring, required, tuple(explained), tuple(notes))


def _rewrite(
    trees: NamedTrees, settings: BrokerSettings, out: Path, choice: BrokerChoice
) -> tuple[Wiring, Inventory, list[str], list[str]]:
    """Change the folder of a federation at once, if no broker needs other files in between."""
    from meshwright.deploy.change import plan_change, write_everything
    from meshwright.deploy.delta import explain_delta
    from meshwright.deploy.folder_store import FederationFolder, require_same_settings
    from meshwright.deploy.inventory import read_inventory
    from meshwright.deploy.settings import require_protected

    given = None if choice.inventory is None else read_inventory(choice.inventory)
    store = FederationFolder(out)
    with store.lock():
        change = plan_change(store, trees, require_same_settings(out, settings), given)
        notes = require_protected(change.inventory, change.settings, insecure=choice.insecure)
        write_everything(change, overwrite_edits=False)
    return change.delta.new, change.inventory, list(explain_delta(change.delta)), notes


def _inventory(choice: BrokerChoice, brokers: tuple[str, ...]) -> Inventory:
    """Return the endpoints of the brokers: from the inventory, or on this machine without one."""
    from meshwright.deploy.inventory import Inventory, read_inventory

    if choice.inventory is None:
        return Inventory.on_loopback(brokers)
    return read_inventory(choice.inventory).for_brokers(brokers)


def _refuse_broker_options(to: str, choice: BrokerChoice) -> None:
    """Refuse options for brokers when the export is for another program."""
    from meshwright.deploy.targets import DEFAULT_TARGET, load_target

    broker = load_target(DEFAULT_TARGET)
    given = {
        "--inventory": choice.inventory,
        "--profile": choice.profile != "plain",
        f"--{broker.name}": choice.version not in ("", broker.versions[0]),
        "--secret": choice.secret,
        "--insecure": choice.insecure,
        "--allow-relays": choice.allow_relays,
        "--fragment": choice.fragment,
    }
    named = [name for name, value in given.items() if value]
    if named:
        raise InputError(
            f"{', '.join(named)} cannot be used with --to {to}: omit it, or export --to {broker.name}"
        )
