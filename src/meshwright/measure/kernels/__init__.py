"""The compiled loops behind the measures: plain arrays in, plain arrays out."""
