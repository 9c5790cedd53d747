"""The neutral decision tree: its arrays, its contract, its JSON and its paths."""
