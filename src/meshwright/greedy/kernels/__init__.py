"""Numba code: the state, the operations on it, and the pickers that stand on it.

The state:

- `state`: the arrays, as named tuples;
- `components`: which subscribers of a topic are connected, what a link would merge, merging it, and filling
  a new state.

The picker by contribution, in levels:

- `bit_rows`: bit rows over nodes, summed into bit-sliced counters, and the largest counts;
- `row_windows`: the window of a row, rebuilt for all v at once by these counters, and what light topics
  contribute to each pair, where keeping that pays;
- `sweep`: the descent through the levels, and the main loop of the rules.

The same by lists, where few pairs share three topics:

- `index`: pairs listed by the topics they share, level by level;
- `listed_pairs`: listed pairs checked, and linked in order; the last level, which needs no list.

The pickers by value:

- `by_value`: the heap, contribution over cost for any pair, and weighted topics for listed pairs;
- `weighted_rows`: the windows of rows by contribution over cost.
"""
