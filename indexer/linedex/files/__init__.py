"""What is on disk: allowed roots, the walk, text formats, fingerprints."""
