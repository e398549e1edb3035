"""Plans on executors: made in parts, and verified."""
