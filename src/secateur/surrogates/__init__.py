"""Trees that stand in for another model: what they are grown from, how, and how large."""
