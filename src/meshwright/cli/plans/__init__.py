"""Commands that make and check plans."""
