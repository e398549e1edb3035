"""Links that cost: what each one costs, growth by contribution over cost, and what an overlay costs."""

from meshwright.weighted.costs import LinkCosts
from meshwright.weighted.growth import grow, prepare
from meshwright.weighted.total import total_cost

__all__ = ["LinkCosts", "grow", "prepare", "total_cost"]
