"""Sources of the reasoning agent beside the pool: documents, web pages and web search."""
