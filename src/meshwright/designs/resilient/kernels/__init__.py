"""The compiled loops of the resilient design."""
