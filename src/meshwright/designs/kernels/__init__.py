"""The compiled loops of the designs that do not run on the engine."""
