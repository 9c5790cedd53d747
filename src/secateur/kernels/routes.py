"""Rows down a tree, in plain Python that numba can compile, as in :mod:`secateur.kernels.walks`."""


def goes_left(value, limit, missing_left, start, table):  # type: ignore[no-untyped-def]
    """Whether a value goes left at a split."""
    if value != value:
        return missing_left
    if start >= 0:
        return table[start + int(value)]
    return value <= limit


def route_rows(values, origin, step, columns, n_rows, left, right, feature, upper, missing_left, start, table, reached):  # type: ignore[no-untyped-def]
    """Find the leaf that each row of a block reaches; ``columns`` has a place for every feature."""
    for row in range(n_rows):
        node, at = 0, origin + row * step
        while feature[node] >= 0:
            value = values[at + columns[feature[node]]]
            is_left = goes_left(value, upper[node], missing_left[node], start[node], table)
            node = left[node] if is_left else right[node]
        reached[row] = node
