"""The mosquitto program on this machine: its path, its version, and free ports for brokers."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from contextlib import ExitStack

from meshwright.errors import InputError, MissingDependencyError

CONFIGURATION = "mosquitto.conf"
"""The configuration file in a broker's folder."""
USER = "mosquitto"
"""The user that Mosquitto becomes when root starts it: its folder must belong to that user."""
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


def free_ports(count: int) -> list[int]:
    """Return different loopback ports that nothing listens on.

    >>> len(set(free_ports(3)))
    3
    """
    with ExitStack() as stack:
        # All sockets stay bound until the last has its port, so that no port is returned twice.
        servers = [stack.enter_context(socket.socket()) for _ in range(count)]
        for server in servers:
            server.bind(("127.0.0.1", 0))
        return [server.getsockname()[1] for server in servers]
