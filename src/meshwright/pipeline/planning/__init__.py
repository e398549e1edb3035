"""Planning in parts on Spark: divide and conquer."""
