"""Free ports."""

from __future__ import annotations

import socket

from meshwright.brokers.ports import free_ports


def test_free_ports() -> None:
    """Ports are different and can be bound, one by one and all together."""
    ports = free_ports(20)
    assert len(set(ports)) == 20
    servers = [socket.create_server(("127.0.0.1", port)) for port in ports]
    taken = free_ports(20)
    for server in servers:
        server.close()
    assert not set(ports) & set(taken)
    assert free_ports(0) == []
