"""What you know about the columns: stated in words, checked against rows, and built into the tree."""
