"""The kernels of the price bound."""
