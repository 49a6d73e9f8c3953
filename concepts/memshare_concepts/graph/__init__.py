"""The graph of concepts: a function of which memory has which concepts."""
