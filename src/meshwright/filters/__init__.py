"""MQTT topic filters."""
