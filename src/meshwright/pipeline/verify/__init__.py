"""Verifying a plan on Spark."""
