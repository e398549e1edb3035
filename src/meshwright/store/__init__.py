"""Reading and writing: datasets, plans, and the plain files that interests come in."""
