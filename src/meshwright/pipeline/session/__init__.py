"""The Spark session: Java, clusters, Spark Connect, failures and progress."""
