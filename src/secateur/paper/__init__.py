"""The paper's experiments, run again through the public API, and its numbers to compare with."""
