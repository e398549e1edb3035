"""Where brokers run: on this machine, supervised; as systemd units; in containers."""
