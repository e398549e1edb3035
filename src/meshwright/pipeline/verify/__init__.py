"""Verifying a plan on Spark: `meshwright.verify` does the checking, this room moves the data."""
