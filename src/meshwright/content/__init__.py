"""Users on brokers at least cost: the content-based half."""

from meshwright.content.chance import random
from meshwright.content.cost import Cost, cost
from meshwright.content.packing import packing
from meshwright.content.places import Places
from meshwright.content.synthetic import synthetic
from meshwright.content.workload import Workload

__all__ = ["Cost", "Places", "Workload", "cost", "packing", "random", "synthetic"]
