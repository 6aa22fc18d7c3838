"""What the command line asks the daemon, without becoming its MCP client.

Promise: where no daemon runs, none is started, and the answer is None.
"""
