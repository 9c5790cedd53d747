"""Tables that the command line reads, and the trees that it fits to them."""
