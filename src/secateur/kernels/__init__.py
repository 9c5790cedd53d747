"""The loops that numba compiles, and what runs them."""
