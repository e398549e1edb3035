"""Compiling kernels with numba, where compiled code is kept, and SIMD words for kernels."""
