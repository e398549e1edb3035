"""The kernels of overlays that live: arrays in, arrays out."""
