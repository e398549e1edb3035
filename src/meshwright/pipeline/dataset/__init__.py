"""Datasets on Spark: ingest, profile, sample and traffic."""
