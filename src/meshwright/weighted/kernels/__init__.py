"""The compiled code of weighted growth.

A pair of nodes is worth its contribution over its cost. Such values only fall as edges are added, but they
have no levels to sweep through, as contributions have. So rows u wait in a heap, by an upper bound of the
value of their best pair:

- `state`: what the kernels work on, as tuples of arrays;
- `rows`: the window of a row's best pairs, made anew and looked through;
- `heap`: the rows by their bounds;
- `sweep`: finding the best pair of all, and the rules' main loop;
- `tables`: what a table of costs lacks or breaks.
"""
