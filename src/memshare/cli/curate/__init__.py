"""Commands that look at a pool and change it."""
