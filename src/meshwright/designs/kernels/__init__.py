"""The compiled loops of the designs: pickers over blocks and at random, and designs without the engine."""
