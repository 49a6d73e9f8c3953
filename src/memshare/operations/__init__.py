"""Functions that answer a call of the table, for REST, MCP, page and command line: each is found by itself."""
