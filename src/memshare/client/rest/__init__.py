"""The client of `memshare serve`: light, typed, blocking or asynchronous."""
