"""Steiner trees in an overlay: the kernels behind the filtering cost."""
