"""From a plan with trees to running brokers: configuration, deltas, and a federation on loopback."""

from meshwright.deploy.folder_store import write_federation
from meshwright.deploy.graph_files import export
from meshwright.deploy.inventory import Endpoint, Inventory, read_inventory
from meshwright.deploy.manifest import DeployedFederation, read_federation
from meshwright.deploy.named_trees import NamedTrees, TopicTree, read_named_trees
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.wiring import Wiring, rewire, wire

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
