"""Brokers as services: a systemd unit for each, or containers of one compose file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from meshwright.brokers.processes import BrokerKind
from meshwright.deploy.targets import check_line, write_lines
from meshwright.deploy.wiring import Wiring, folder_of


def systemd_unit(broker: str, kind: BrokerKind) -> str:
    """Return a systemd unit that runs a broker from /etc/meshwright."""
    # systemd expands %: double it.
    name = folder_of(broker).replace("%", "%%")
    folder = f"/etc/meshwright/{name}"
    return write_lines(
        [
            "[Unit]",
            f"Description={kind.product} broker {name}, planned by Meshwright",
            *("After=network-online.target", "Wants=network-online.target", ""),
            "[Service]",
            f"WorkingDirectory={folder}",
            f"ExecStartPre=+/bin/chown -hR {kind.user} {folder}",
            f"ExecStart=/usr/sbin/{kind.command}",
            *("ExecReload=/bin/kill -HUP $MAINPID", "Restart=on-failure", ""),
            *("[Install]", "WantedBy=multi-user.target"),
        ]
    )


def docker_compose(wiring: Wiring, kind: BrokerKind, image: str) -> str:
    """Return a docker-compose file; it is JSON, which is also YAML and quotes every name safely."""
    service_of = {broker: f"broker-{number:04}" for number, broker in enumerate(wiring.order)}
    services: Mapping[str, Any] = {
        service_of[broker]: {
            "image": check_line(image),
            "network_mode": "host",
            "working_dir": "/federation",
            "command": ["sh", "-c", f"chown -hR {kind.user} . && exec {kind.command}"],
            "volumes": [check_line(f"./{folder_of(broker)}:/federation")],
            "restart": "unless-stopped",
            "depends_on": [service_of[other] for other in wiring.dialled_by(broker)],
        }
        for broker in wiring.order
    }
    return json.dumps({"services": services}, indent=2, ensure_ascii=False) + "\n"
