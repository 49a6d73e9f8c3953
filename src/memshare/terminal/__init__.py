"""Output in a terminal, and ids as people type them."""
