"""Assignment: which user goes to which broker, what that costs, and the algorithms that decide it."""
