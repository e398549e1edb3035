"""The engine's numba code.

The idea is the **level sweep**. Contributions only fall as edges are added. So the greedy order with ties to
the smallest (u, v) is: for w from the largest contribution down to 1, for u ascending, for v > u ascending,
take (u, v) if its contribution is exactly w now; a pair passed over at level w can never be w again. What
remains is to skip almost all pairs, by an upper bound for each row u and a small window of its best pairs.

- `state`: what the kernels work on, as tuples of arrays;
- `components`: which subscribers of a topic are connected, and what an edge would merge;
- `pairs`: what light topics contribute to each pair, kept at hand where that pays;
- `adders`: bit rows over nodes, summed into bit-sliced counters;
- `selecting`: who has the largest counts;
- `rows`: rebuilding the window of a row, for all v at once by these counters;
- `sweep`: the descent through the levels, and the rules' main loop;
- `beginning`: how a run begins, with edges that are there already.
"""
