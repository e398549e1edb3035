"""MQTT topic filters: syntax, matching, cover, overlap groups, and the interest of brokers in groups."""
