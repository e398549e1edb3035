"""The mosquitto program of this machine, and free ports for it."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from contextlib import ExitStack

from meshwright.errors import InputError, MissingDependencyError

PLACES = "/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin"
"""Where it is on systems that do not have these on the PATH."""


def find_mosquitto() -> str:
    """Return the path of mosquitto.

    Raises
    ------
    MissingDependencyError
        If there is none; it says how to get it.
    """
    found = shutil.which("mosquitto") or shutil.which("mosquitto", path=PLACES)
    if found is None:
        raise MissingDependencyError(
            "mosquitto is not installed: apt install mosquitto, dnf install mosquitto or "
            "brew install mosquitto, and have it on the PATH"
        )
    return found


def installed_version() -> str:
    """Return which of the versions that settings know the installed mosquitto is, by what it says of itself.

    Raises
    ------
    MissingDependencyError
        If there is none.
    InputError
        If it does not say.
    """
    program = find_mosquitto()
    # Its exit code says nothing: 2.0 ends with 3 after it has helped, 2.1 with 0.
    told = subprocess.run(
        [program, "-h"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    found = re.search(r"mosquitto version (\d+)\.(\d+)", told.stdout)
    if found is None:
        raise InputError(f"{program} -h does not tell its version: have Mosquitto's own first on the PATH")
    return "2.1" if (int(found[1]), int(found[2])) >= (2, 1) else "2.0"


def free_ports(count: int) -> list[int]:
    """Return ports of loopback that nobody listens at."""
    with ExitStack() as stack:
        servers = [stack.enter_context(socket.socket()) for _ in range(count)]
        for server in servers:
            server.bind(("127.0.0.1", 0))
        return [server.getsockname()[1] for server in servers]
