"""Brokers as services: the systemd unit."""

from __future__ import annotations

from meshwright.brokers.mosquitto import MOSQUITTO
from meshwright.deploy.hosts.services import systemd_unit


def test_the_systemd_unit() -> None:
    """The unit runs the broker in its folder, which it gives to its user, and doubles percent signs."""
    assert systemd_unit("a b", MOSQUITTO) == (
        "[Unit]\n"
        "Description=Mosquitto broker a%%20b, planned by Meshwright\n"
        "After=network-online.target\nWants=network-online.target\n\n"
        "[Service]\n"
        "WorkingDirectory=/etc/meshwright/a%%20b\n"
        "ExecStartPre=+/bin/chown -hR mosquitto /etc/meshwright/a%%20b\n"
        "ExecStart=/usr/sbin/mosquitto -c mosquitto.conf\n"
        "ExecReload=/bin/kill -HUP $MAINPID\nRestart=on-failure\n\n"
        "[Install]\nWantedBy=multi-user.target\n"
    )
