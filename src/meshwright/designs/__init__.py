"""The named designs, listed in the registry."""
