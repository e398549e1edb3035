"""Writing files and folders so that they appear whole or not at all."""
