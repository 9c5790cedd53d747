"""Tables that need not fit into memory: read as record batches, and counted, predicted or checked batch by batch."""
