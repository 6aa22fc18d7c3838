"""linedex: an index of folders and huge logs that answers in milliseconds and never from stale bytes."""
