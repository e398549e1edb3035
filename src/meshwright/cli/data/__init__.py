"""Commands that create and inspect datasets."""
