"""From a plan with trees to running brokers: configuration, deltas, and a federation on loopback."""

from meshwright.deploy.exports import export
from meshwright.deploy.folders import Deployed, read_federation, write_federation
from meshwright.deploy.inventory import Inventory, Place, read_inventory
from meshwright.deploy.routed import Routed, Way
from meshwright.deploy.settings import Settings
from meshwright.deploy.wiring import Wiring, rewire, wire

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
