"""Edits: from what a caller asks for to bytes on disk, one engine for every write tool.

Data flows one way: `document` (a snapshot's text), the planners (which code points change), `style` (which bytes that
is), `commit` (the bytes put down, history first), `history` (what can be undone). Only `commit` writes a user's file.
"""
