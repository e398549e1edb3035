"""A federation of real brokers on this machine: run it, send traffic, judge deliveries, change it."""
