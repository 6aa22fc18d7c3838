"""Where a daemon and those who want it meet: its address, its election, the first line of a session, its start.

Promise: standard library only, some milliseconds to import, so that a bridge is up before its client can wait for it.
All of it lies in the state folder: one daemon a state folder.
"""
