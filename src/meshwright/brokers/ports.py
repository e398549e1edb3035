"""Ports of loopback that are free."""

from __future__ import annotations

import socket
from contextlib import ExitStack


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
