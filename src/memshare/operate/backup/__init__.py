"""A whole deployment in one file, and back."""
