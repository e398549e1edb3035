"""From a plan with trees to running brokers: configuration, deltas, and a federation on loopback."""

from meshwright.deploy.config.exports import export
from meshwright.deploy.config.folders import write_federation
from meshwright.deploy.config.inventory import Endpoint, Inventory, read_inventory
from meshwright.deploy.config.manifest import DeployedFederation, read_federation
from meshwright.deploy.config.named_trees import NamedTrees, TopicTree, read_named_trees
from meshwright.deploy.config.settings import BrokerSettings
from meshwright.deploy.config.wiring import Wiring, rewire, wire

__all__ = [
    "BrokerSettings",
    "DeployedFederation",
    "Endpoint",
    "Inventory",
    "NamedTrees",
    "TopicTree",
    "Wiring",
    "export",
    "read_federation",
    "read_inventory",
    "read_named_trees",
    "rewire",
    "wire",
    "write_federation",
]
