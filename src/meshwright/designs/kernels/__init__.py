"""The numba code of the designs that do not run on the engine."""
