"""Whether a plan is what it says, recomputed by code that shares nothing with what made it."""
