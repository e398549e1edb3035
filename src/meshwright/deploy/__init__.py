"""From a plan with trees to running brokers, of any kind.

In the order in which data passes: `named_trees`, checked by `sound_plan`, become a `wiring`, at the addresses
of an `inventory`. `delta` and `waves` say what each broker does for a new wiring, and in which order.
`change` and `rollout` carry that out in a `folder_store`, whose `manifest` says what is deployed; `drift` is
what was changed by hand. `targets` knows the kinds of brokers, `hosts` where they run, and `proof` shows by
traffic that it works.
"""

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
