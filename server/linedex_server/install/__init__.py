"""Entries for linedex in other programs' settings: the least change that makes a client start it, or a unit run it."""
