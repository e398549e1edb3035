"""Following a folder of subscribes and unsubscribes that grows: rows become events, each exactly once."""
