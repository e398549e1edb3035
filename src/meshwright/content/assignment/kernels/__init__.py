"""The compiled loops of the assignment algorithms."""
