"""Mark the rows that satisfy each link, one bit for each row.

A link's mask is made once and shared by all rules and trials: the rows of a rule are the intersection of its links'
masks.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.tree.tree import Tree

Masks = np.ndarray[Any, np.dtype[np.uint64]]

# Rows are compared a block at a time, so that a block of the used columns stays in the processor's cache while
# every split looks at it. A multiple of 64 keeps blocks on word boundaries.
BLOCK_ROWS = 1 << 14

# Masks of all links are made for this many bytes at a time where rows can be looked at in blocks.
MASK_BYTES = 1 << 26


def pack_links(tree: Tree, matrix: NDArray[Any], columns: NDArray[np.int64] | None = None) -> Masks:
    """Make the masks of all links over the rows of a checked matrix, shape (n_nodes, n_words).

    Bit ``r`` of mask ``b`` says whether row ``r`` satisfies the link into node ``b``. The root's mask holds every row.
    ``columns`` are the features that the matrix holds, increasing, if it does not hold all.
    """
    n_rows = len(matrix)
    masks = np.zeros((tree.n_nodes, -(-n_rows // 64)), dtype=np.uint64)
    masks[0] = pack_bits(np.ones(n_rows, dtype=bool))
    inner = np.flatnonzero(~tree.is_leaf)
    if not len(inner):
        return masks
    used, column_of = np.unique(tree.feature[inner], return_inverse=True)
    used = used if columns is None else np.searchsorted(columns, used)
    limits = tree.upper[inner].astype(matrix.dtype)
    start, table = tree.category_table
    lefts = masks.view(np.uint8)
    for first in range(0, n_rows, BLOCK_ROWS):
        block = np.ascontiguousarray(matrix[first : first + BLOCK_ROWS, used].T)
        missing = np.isnan(block)
        some_missing = missing.any(axis=1)
        place = slice(first // 8, first // 8 + -(-block.shape[1] // 8))
        for node, column, limit in zip(inner.tolist(), column_of.tolist(), limits, strict=True):
            if start[node] >= 0:
                codes = np.where(missing[column], 0, block[column]).astype(np.int64)
                left = table[start[node] + codes]
            else:
                left = block[column] <= limit
            if some_missing[column]:
                left = np.where(missing[column], tree.missing_left[node], left)
            lefts[tree.children_left[node], place] = np.packbits(left, bitorder="little")
    masks[tree.children_right[inner]] = masks[0] & ~masks[tree.children_left[inner]]
    return masks


def rows_in(masks: Masks, links: NDArray[np.int32]) -> Masks:
    """Mask the rows that satisfy all the links; every row if there are none."""
    if not len(links):
        everyone: Masks = masks[0]
        return everyone
    found: Masks = np.bitwise_and.reduce(masks[links], axis=0)
    return found


def pack_bits(flags: NDArray[np.bool_]) -> Masks:
    """Pack the last axis to bits and pad it with zeros to whole words."""
    padded = np.zeros((*flags.shape[:-1], -(-flags.shape[-1] // 64) * 8), dtype=np.uint8)
    packed = np.packbits(flags, axis=-1, bitorder="little")
    padded[..., : packed.shape[-1]] = packed
    words: Masks = padded.view(np.uint64)
    return words


def unpack_bits(mask: Masks, n_rows: int) -> NDArray[np.bool_]:
    """Turn the first ``n_rows`` bits of the last axis into bools."""
    return np.unpackbits(mask.view(np.uint8), axis=-1, count=n_rows, bitorder="little").view(bool)
