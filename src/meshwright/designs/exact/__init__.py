"""The exact design, for small instances."""
