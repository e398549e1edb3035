"""Mosquitto: its configuration files, read and written, and what it can do."""
