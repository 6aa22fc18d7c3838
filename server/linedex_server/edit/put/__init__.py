"""Bytes put down: the only rooms that write a user's file."""
