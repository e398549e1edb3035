"""Link costs: what each link costs, and what an overlay costs."""

from meshwright.costs.link_costs import LinkCosts, total_cost

__all__ = ["LinkCosts", "total_cost"]
