"""Commands of the content-based half."""
