"""The table of the calls of `memshare serve`: a file for each group, a declaration for each call."""
