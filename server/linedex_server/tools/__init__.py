"""The MCP tools: each is a thin shell around one answer of the library.

A `Tool` names itself, describes itself to a model, takes its parameters and runs; nothing here knows the protocol.
`registry` says which tools there are and in which groups they are offered.
"""
