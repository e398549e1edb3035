"""Planning on Spark."""
