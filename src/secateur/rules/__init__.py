"""Rule sets: what they say, why, how they decide rows, and how two of them differ."""
