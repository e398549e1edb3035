"""Link lists and fragments of an overlay that changes in place: the kernels that search and churn share."""
