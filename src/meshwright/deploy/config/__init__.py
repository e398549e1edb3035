"""Configuration of a federation: wiring, files, folders and changes."""
