"""The mosquitto program of this machine, and free ports for it."""

from __future__ import annotations

import shutil
import socket
from contextlib import ExitStack

from meshwright.errors import MissingDependencyError

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


def free_ports(count: int) -> list[int]:
    """Return ports of loopback that nobody listens at."""
    with ExitStack() as stack:
        servers = [stack.enter_context(socket.socket()) for _ in range(count)]
        for server in servers:
            server.bind(("127.0.0.1", 0))
        return [server.getsockname()[1] for server in servers]
