"""The kernels of live overlays.

- `live_arrays`: the state that they change, its links and its lists of subscribers.
- `damage`: the fragments that a loss leaves.
- `repair_step`: the candidates of a repair, and the links that join the fragments.
- `covers`, `backups`: the backups of each node.
- `changes`: each kind of change from beginning to end.
- `tidy`: fewer links and lower degrees after a change.
"""
