"""The protocol between users and brokers: its messages, and the agents that send and handle them."""
