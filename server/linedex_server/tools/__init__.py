"""The MCP tools: each is a thin shell around one answer of the library."""
