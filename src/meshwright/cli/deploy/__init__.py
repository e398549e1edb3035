"""Commands from a plan to running brokers: route, export, lint, diff, apply, federation."""
