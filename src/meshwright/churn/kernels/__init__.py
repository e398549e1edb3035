"""The kernels of live overlays.

- `live_arrays`: the state that they change, its links and its lists of subscribers.
- `damage`: the fragments that a loss leaves.
- `shadows`: the candidates of a repair.
- `greedy_step`: the links that join the fragments.
- `covers`, `backups`: the backups of each node.
- `changes`: each kind of change from beginning to end.
- `tidy`: fewer links and lower degrees after a change.
"""
