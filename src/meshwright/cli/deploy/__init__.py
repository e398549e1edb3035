"""Commands from a plan to running brokers: route, export, diff, apply, federation."""
