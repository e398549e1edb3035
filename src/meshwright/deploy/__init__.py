"""From a plan with trees to running brokers: configuration, deltas, and a federation on loopback."""

from meshwright.deploy.config.exports import export
from meshwright.deploy.config.folders import Deployed, read_federation, write_federation
from meshwright.deploy.config.inventory import Inventory, Place, Settings, read_inventory
from meshwright.deploy.config.routed import Routed, Way
from meshwright.deploy.config.wiring import Wiring, rewire, wire

__all__ = [
    "Deployed",
    "Inventory",
    "Place",
    "Routed",
    "Settings",
    "Way",
    "Wiring",
    "export",
    "read_federation",
    "read_inventory",
    "rewire",
    "wire",
    "write_federation",
]
