"""Speed, as ratios to something measured in the same run; only the public API is timed."""
