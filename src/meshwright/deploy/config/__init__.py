"""The configuration of a federation: trees by name, wiring, files, folders and deltas."""
