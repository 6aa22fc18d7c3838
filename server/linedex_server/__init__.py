"""Everything of linedex that talks: MCP tools, the command line, settings, rendering."""

VERSION = "0.1.0"
"""The version of this package; reading it from the installed metadata takes 20 ms, which a bridge does not have."""
