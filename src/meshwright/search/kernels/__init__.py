"""The kernels of ruin and recreate.

- `net`: the overlay that they change.
- `detours`: topics that stay connected without a link, found for all topics at once.
- `fragment_records`: the fragments that a ruin leaves.
- `best_partner`: for a node in a fragment, the link that joins the most.
- `improve`: the steps that ruin and recreate.
"""
