"""Everything of linedex that talks: MCP tools, the command line, settings, rendering."""
