"""The compiled loops behind routes: all topics' trees at once, and what is measured of them.

A tree is held as its nodes from the root outwards; `above` says at which place of the same tree a node's
parent stands, -1 for the root, and `by` which link leads there.
"""
