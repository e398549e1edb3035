"""Reading and writing: one module for each format on disk."""
