"""What agents call: an MCP server over search, for one organisation."""
