"""Commands that make and look at datasets."""
