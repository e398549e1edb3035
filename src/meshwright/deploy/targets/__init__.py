"""Targets: what one kind of broker needs, and can do."""
