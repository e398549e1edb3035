"""The proof: what must arrive where, the traffic that shows it, and the verdict."""
