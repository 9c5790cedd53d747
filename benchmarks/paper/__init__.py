"""The pages of the documentation about the paper, written from the stored results."""
