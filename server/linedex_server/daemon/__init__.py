"""The daemon: one process that holds every index of a state folder open and serves all clients.

Imported when an election is won, since what is below needs the protocol package.
"""
