"""The data pipeline on Spark: from raw subscription logs to datasets, profiles, samples and event streams.

Only this package imports pyspark, and only inside functions. Code that runs on executors uses DataFrames and
Arrow, so it runs the same in this process, on a cluster, or through Spark Connect.
"""
