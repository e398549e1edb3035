"""Model: content space, publication rates, subscriptions, brokers and link costs (cbps, section II)."""
