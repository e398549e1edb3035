"""Link costs: what each link costs, and what an overlay costs."""
