"""The functions that answer the calls: every module here is found by itself."""
