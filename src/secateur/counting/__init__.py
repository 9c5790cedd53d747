"""How many rows of each class a rule covers, with and without any of its conditions."""
