"""Fixed runs: digests of everything that Meshwright makes, to show that a refactoring changes nothing."""
