"""The exact design, in pieces.

- `problem`: which pairs may be linked, and which sets of nodes must be connected;
- `cuts`: constraints that every solution satisfies, found when a point violates them;
- `relaxation`: the linear program over the cuts, its bound and its prices;
- `rounding`, `dive`: from points of the relaxation to overlays;
- `integers`: integer programs over the pairs that the prices leave in question;
- `search`: all of these in turn, until the best overlay meets the bound or time is up.
"""
