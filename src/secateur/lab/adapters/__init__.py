"""Models of optimal-tree libraries as trees, one library per file; :mod:`secateur.adapters` names them."""
