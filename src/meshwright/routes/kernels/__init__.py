"""The compiled loops of routes: the trees of all topics at once, and their measures.

A tree is a list of its nodes from the root outwards. `above` is the position of a node's parent in that list,
-1 for the root, and `by` is the link to the parent.
"""
