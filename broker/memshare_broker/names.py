"""What a name of an agent, a kind or a pool looks like."""

NAME = r"[a-z][a-z0-9_-]{0,40}"
"""The whole of a name, as a regular expression."""
