"""Mosquitto on this machine: the program, its version, and how it is started."""

from __future__ import annotations

import re
import shutil
import subprocess

from meshwright.brokers.processes import BrokerKind
from meshwright.errors import InputError, MissingDependencyError

CONFIGURATION = "mosquitto.conf"
"""The configuration file in a broker's folder."""
SYSTEM_FOLDERS = "/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin"
"""Where packages install it: many systems do not have these folders on the PATH."""


def find_mosquitto() -> str:
    """Return the path of mosquitto.

    Raises
    ------
    MissingDependencyError
        If it is not installed; the error says how to install it.
    """
    path = shutil.which("mosquitto") or shutil.which("mosquitto", path=SYSTEM_FOLDERS)
    if path is None:
        raise MissingDependencyError(
            "mosquitto is not installed: apt install mosquitto, dnf install mosquitto or "
            "brew install mosquitto, and have it on the PATH"
        )
    return path


def installed_version() -> str:
    """Return the version of the installed mosquitto, as settings name it: `2.0` or `2.1`.

    An older version counts as 2.0, a newer one as 2.1.

    Raises
    ------
    MissingDependencyError
        If mosquitto is not installed.
    InputError
        If its help text does not state a version.
    """
    program = find_mosquitto()
    # The exit code means nothing here: after printing its help, 2.0 exits with 3 and 2.1 with 0.
    help_text = subprocess.run(
        [program, "-h"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    ).stdout
    version = re.search(r"mosquitto version (\d+)\.(\d+)", help_text)
    if version is None:
        raise InputError(f"{program} -h does not state its version: put Mosquitto's own first on the PATH")
    return "2.1" if (int(version[1]), int(version[2])) >= (2, 1) else "2.0"


MOSQUITTO = BrokerKind(
    "Mosquitto", find_mosquitto, installed_version, f"mosquitto -c {CONFIGURATION}", "mosquitto"
)
"""Mosquitto, which root starts as the user `mosquitto`."""
