"""Trees that stand in for a model that is no tree: what they are grown from, how, and how large."""
