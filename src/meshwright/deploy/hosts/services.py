"""Brokers as services: a systemd unit for each, or containers of one compose file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from meshwright.brokers.processes import BrokerKind
from meshwright.deploy.wiring import Wiring, folder_of


def systemd_unit(broker: str, kind: BrokerKind) -> str:
    """Return a systemd unit that runs a broker from /etc/meshwright."""
    # systemd expands %: double it.
    name = folder_of(broker).replace("%", "%%")
    folder = f"/etc/meshwright/{name}"
    return (
        "[Unit]\n"
        f"Description={kind.product} broker {name}, planned by Meshwright\n"
        "After=network-online.target\nWants=network-online.target\n\n"
        "[Service]\n"
        f"WorkingDirectory={folder}\n"
        f"ExecStartPre=+/bin/chown -hR {kind.user} {folder}\n"
        f"ExecStart=/usr/sbin/{kind.command}\n"
        "ExecReload=/bin/kill -HUP $MAINPID\nRestart=on-failure\n\n"
        "[Install]\nWantedBy=multi-user.target\n"
    )


def docker_compose(wiring: Wiring, kind: BrokerKind, image: str) -> str:
    """Return a docker-compose file; it is JSON, which is also YAML and quotes every name safely."""
    service_of = {broker: f"broker-{number:04}" for number, broker in enumerate(wiring.order)}
    services: Mapping[str, Any] = {
        service_of[broker]: {
            "image": image,
            "network_mode": "host",
            "working_dir": "/federation",
            "command": ["sh", "-c", f"chown -hR {kind.user} . && exec {kind.command}"],
            "volumes": [f"./{folder_of(broker)}:/federation"],
            "restart": "unless-stopped",
            "depends_on": [service_of[other] for other in wiring.dialled_by(broker)],
        }
        for broker in wiring.order
    }
    return json.dumps({"services": services}, indent=2, ensure_ascii=False) + "\n"
