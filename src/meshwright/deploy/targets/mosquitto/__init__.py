"""Mosquitto: its configuration files, written and read, and what it can do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.deploy.targets import ACCESS, GONE, LINKS, NOTHING, RELOAD, RESTART, Capabilities

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from meshwright.brokers.processes import BrokerKind, Brokers
    from meshwright.deploy.delta import TopicLine
    from meshwright.deploy.findings import Inspection
    from meshwright.deploy.inventory import Inventory
    from meshwright.deploy.named_trees import NamedTrees
    from meshwright.deploy.settings import BrokerSettings
    from meshwright.deploy.targets.mosquitto.logs import Logs
    from meshwright.deploy.wiring import Wiring

CONFIGURATION, FRAGMENT = "mosquitto.conf", "meshwright.conf"
"""The file with a broker's whole configuration, and one with its bridges only, which another includes."""
SECRET_FILES = ("passwords", "bridges.passwords", "client.password", CONFIGURATION)
"""Files that hold passwords if there is a secret."""


class Mosquitto:
    """Mosquitto 2: links are bridges in its configuration file, which one of their ends dials."""

    name = "mosquitto"
    product = "Mosquitto"
    versions: tuple[str, ...] = ("2.0", "2.1")
    capabilities = Capabilities()
    access_files: tuple[str, ...] = ("passwords", "access", "bridges.passwords", "bridges.access")
    queues = "data/mosquitto.db"

    def reloads(self, settings: BrokerSettings) -> bool:
        """Return whether bridges change by a reload: from 2.1 on, except durable ones, which lose queues."""
        return settings.version == "2.1" and not settings.durable

    def classify(self, edit: str, settings: BrokerSettings) -> str:
        """Return what a broker must do for an edit.

        - Mosquitto 2.0 loads changed bridges when the dialling broker restarts. 2.1 loads them on a reload:
          no client is disconnected, and only changed bridges are interrupted. But after a reload a durable
          bridge has lost the messages queued at its dialler, so with durable sessions 2.1 restarts, too.
        - A bridge to a broker that is gone does no harm: it disappears with the next restart or reload. A
          durable one would queue messages for ever, so its dialler acts at once.
        - Passwords and access lists are read again on a reload.
        """
        if edit == ACCESS:
            return RELOAD
        if edit == GONE and not settings.durable:
            return NOTHING
        return RELOAD if edit in (LINKS, GONE) and self.reloads(settings) else RESTART

    def links_file(self, settings: BrokerSettings) -> str:
        """Return the name of the file with the bridges of a broker."""
        return FRAGMENT if settings.fragment else CONFIGURATION

    def is_private(self, file: str, *, secured: bool) -> bool:
        """Return whether only its owner may read a file."""
        return Path(file).name == FRAGMENT or (secured and Path(file).name in SECRET_FILES)

    def broker_files(
        self, wiring: Wiring, inventory: Inventory, settings: BrokerSettings, broker: str
    ) -> dict[str, str]:
        """Return the files of a broker's folder by name; paths in them are relative to that folder."""
        from meshwright.deploy.targets.mosquitto.render import broker_files

        return broker_files(wiring, inventory, settings, broker)

    def unit_files(self, broker: str, settings: BrokerSettings) -> dict[str, str]:
        """Return the systemd unit of a broker whose whole configuration is ours."""
        from meshwright.deploy.hosts.services import systemd_unit

        return {} if settings.fragment else {"mosquitto.service": systemd_unit(broker, self.kind)}

    def shared_files(
        self, trees: NamedTrees, wiring: Wiring, inventory: Inventory, settings: BrokerSettings
    ) -> dict[str, str]:
        """Return the handbook and, for brokers whose whole configuration is ours, the compose file."""
        from meshwright.deploy.hosts.services import docker_compose
        from meshwright.deploy.targets.mosquitto.handbook import handbook

        image = f"eclipse-mosquitto:{settings.version}"
        compose = (
            {} if settings.fragment else {"docker-compose.yml": docker_compose(wiring, self.kind, image)}
        )
        return {**compose, "plan.md": handbook(trees, wiring, inventory, settings)}

    def read_links(self, text: str, inventory: Inventory) -> set[TopicLine]:
        """Read the topic lines of all bridges in a configuration, ours and others."""
        from meshwright.deploy.targets.mosquitto.parse import bridge_lines

        return bridge_lines(text, inventory)

    def mask(self, text: str) -> str:
        """Return a configuration without its passwords."""
        from meshwright.deploy.targets.mosquitto.credentials import MASK, PASSWORD

        return PASSWORD.sub(MASK, text)

    def check_existing(
        self, wiring: Wiring, inventory: Inventory, settings: BrokerSettings
    ) -> dict[str, list[str]]:
        """Return, by broker, what its own configuration must provide for a fragment, and whether it does."""
        from meshwright.deploy.targets.mosquitto.fragments import check_existing

        return check_existing(wiring, inventory, settings)

    def lint(self, configurations: Iterable[str | Path], hosts: Mapping[str, tuple[str, int]]) -> Inspection:
        """Read existing configurations, follow their bridges, and find what is wrong."""
        from meshwright.deploy.targets.mosquitto.lint import inspect
        from meshwright.deploy.targets.mosquitto.network import Network
        from meshwright.deploy.targets.mosquitto.parse import read_configurations

        return inspect(Network(read_configurations(configurations), hosts))

    def watch(self, brokers: Brokers, settings: BrokerSettings) -> Logs:
        """Return the logs of running brokers."""
        from meshwright.deploy.targets.mosquitto.logs import Logs

        return Logs(brokers, settings.qos)

    @property
    def kind(self) -> BrokerKind:
        """How to find, start and reload Mosquitto on this machine."""
        from meshwright.brokers.mosquitto import MOSQUITTO

        return MOSQUITTO
