"""The concepts of memories, and what follows from them: how concepts relate, clusters of memories, and gaps.

One thing is stored: which memory has which concepts. Counts, vectors, clusters and gaps are functions of it.
"""
