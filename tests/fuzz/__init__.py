"""Damage to every file that commands read, and what must still hold."""
