"""The compiled loops of the content-based half."""
