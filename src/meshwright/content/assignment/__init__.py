"""Assignment of users to brokers: the algorithms, and what an assignment costs."""
