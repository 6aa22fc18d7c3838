"""Edits: from what a caller asks for to bytes on disk, one engine for every write tool.

Data flows one way: `content` (a file as text, and back to bytes), `find` (where an edit fits), `plan` (what each tool
asks for, as changes of text), `put` (the bytes put down, `history` first), `undo`, and `editor`, the face that tools
call. Only `put` writes a user's file.
"""
