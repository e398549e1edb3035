"""Benchmarks: speed and memory as ratios against competitors, measured side by side in one run."""
