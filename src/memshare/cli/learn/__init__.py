"""Commands of the retriever and of experiments."""
