"""What people decided on the concepts of a pool, as far as a purge has to know of it: where it is kept in Redis."""

from __future__ import annotations


def merges_key(pool: str) -> str:
    """List of JSON: the merges of a pool's concepts, in the order in which they were made."""
    return f"memshare:concepts:merges:{pool}"


def dismissed_key(pool: str) -> str:
    """Hash: id of a gap that a person dismissed → JSON of what it was, when and by whom."""
    return f"memshare:concepts:dismissed:{pool}"
