"""Tables in files: where they are, what they are, how DuckDB reads them, and what is wrong with those it cannot."""
