"""Tables in files: read through DuckDB, made ready for a tree, and simplified."""
