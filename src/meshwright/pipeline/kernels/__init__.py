"""The compiled loops that run on executors: plain arrays in, plain arrays out."""
