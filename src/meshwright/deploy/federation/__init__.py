"""A federation of real brokers on this machine: run, traffic, verdict, churn."""
