"""What every write changed, kept so that it can be undone."""
