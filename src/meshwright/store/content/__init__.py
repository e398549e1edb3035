"""The content-based half on disk: workloads, those made from traffic, and assignments of users."""
