"""Actions on users and brokers: content-based publish/subscribe."""
