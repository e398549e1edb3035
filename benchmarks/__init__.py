"""What the engine costs, beside the paper's own algorithm and a sparse matrix product."""
