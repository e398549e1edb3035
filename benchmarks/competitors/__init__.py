"""Straightforward implementations that Meshwright is measured against."""
