"""What `peers.py` is made of: which programs are here, how they are run in turn, and what is said of it."""
