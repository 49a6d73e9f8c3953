"""People learn from a pool: what they remember of each memory, when it is due, and what comes next."""
