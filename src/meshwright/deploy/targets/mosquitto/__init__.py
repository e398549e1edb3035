"""Mosquitto: links are bridges in its configuration files, which one of their ends dials."""

from __future__ import annotations

from meshwright.brokers.mosquitto import CONFIGURATION, MOSQUITTO
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets import ACCESS, GONE, LINKS, NOTHING, RELOAD, RESTART, Target
from meshwright.deploy.targets.mosquitto.fragments import FRAGMENT, check_existing
from meshwright.deploy.targets.mosquitto.handbook import shared_files, unit_files
from meshwright.deploy.targets.mosquitto.lint import inspect
from meshwright.deploy.targets.mosquitto.logs import Logs
from meshwright.deploy.targets.mosquitto.parse import bridge_lines
from meshwright.deploy.targets.mosquitto.render import ACCESS_FILES, SECRET_FILES, broker_files, mask


def classify(edit: str, settings: BrokerSettings) -> str:
    """Return what a broker must do for an edit.

    - Mosquitto 2.0 loads changed bridges when the dialling broker restarts. 2.1 loads them on a reload: no
      client is disconnected, and only changed bridges are interrupted. But after a reload a durable bridge
      has lost the messages queued at its dialler, so with durable sessions 2.1 restarts, too.
    - A bridge to a broker that is gone does no harm: it disappears with the next restart or reload. A durable
      one would queue messages for ever, so its dialler acts at once.
    - Passwords and access lists are read again on a reload.
    """
    if edit == ACCESS:
        return RELOAD
    if edit == GONE and not settings.durable:
        return NOTHING
    return RELOAD if edit in (LINKS, GONE) and settings.reloads else RESTART


TARGET = Target(
    name="mosquitto",
    kind=MOSQUITTO,
    versions=("2.0", "2.1"),
    reloads_in=frozenset({("plain", "2.1")}),
    classify=classify,
    links_file=lambda settings: FRAGMENT if settings.fragment else CONFIGURATION,
    access_files=ACCESS_FILES,
    queues="data/mosquitto.db",
    private_files=(FRAGMENT,),
    secret_files=SECRET_FILES,
    broker_files=broker_files,
    unit_files=unit_files,
    shared_files=shared_files,
    read_links=bridge_lines,
    mask=mask,
    check_existing=check_existing,
    lint=inspect,
    watch=Logs,
    restart_seconds=0.2,
    redial_seconds=2.0,
)
"""Mosquitto 2, which can do all that a plan may ask. Its `restart_timeout` is at least one second, and 2.0
counts whole seconds: it dials again after one to two."""
