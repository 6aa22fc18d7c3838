"""What a file holds: lines, grams, languages, symbols. Knows bytes, neither disks nor databases."""
