"""Gaps of a pool: concepts that nothing is about, thin clusters, and clusters that nothing connects."""
