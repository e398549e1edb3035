"""The compiled loops behind the measures: arrays in, arrays out."""
