"""MQTT topic filters: validity, overlap and cover."""
