"""Commands from trees to running brokers."""
