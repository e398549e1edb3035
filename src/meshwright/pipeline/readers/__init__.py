"""Readers of raw data: each format becomes rows, good or bad."""
