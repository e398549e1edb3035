"""How messages travel between agents: in one process and virtual time, or over a real MQTT broker."""
