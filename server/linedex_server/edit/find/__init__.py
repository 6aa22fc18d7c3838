"""Where an edit fits, and why it does not."""
