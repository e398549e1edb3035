"""Lint: read existing Mosquitto configurations, and find what storms, duplicates or does not work."""
