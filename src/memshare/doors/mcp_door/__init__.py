"""The MCP door: tools and resources for models, over stdio and over HTTP."""
