"""The sidecar: the only room that knows SQL."""
