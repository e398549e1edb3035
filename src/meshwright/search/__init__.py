"""Local search on overlays: ruin and recreate. All files but `ruin_and_recreate` are kernels."""
