"""Undoing and restoring, as plans for the committer."""
