"""Numba code: the state, the operations on it, and the pickers that stand on it.

The state:

- `state`: the arrays, as named tuples;
- `components`: which subscribers of a topic are connected, what a link would merge, and merging it;
- `pair_counts`: what light topics contribute to each pair, where keeping that pays;
- `start`: filling a new state, and adding the links of a starting overlay.

The picker by contribution, in levels:

- `bit_counters`: bit rows over nodes summed into bit-sliced counters, and the largest counts;
- `rows`: the window of a row, rebuilt for all v at once by these counters;
- `sweep`: the descent through the levels, and the main loop of the rules.

The pickers by value:

- `heap`: the largest value first;
- `weighted_rows`, `weighted_sweep`: contribution over cost, for any pair;
- `priced`: weighted topics, for listed pairs.
"""
