"""What the reasoning agent reads beside the pool: documents, web pages and web search."""
