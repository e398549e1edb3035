"""The model: content space, rates, subscriptions, brokers and link costs (cbps, section II)."""
