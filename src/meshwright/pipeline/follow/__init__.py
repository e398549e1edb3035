"""Following a growing folder of events."""
