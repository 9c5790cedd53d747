"""The paper's entropy-asymmetry table: a child that is surer of class 1 says little of its sibling."""

import math

# The paper's table: parent (70, 30), C1 child with class-1 share 0.90. Counts are (class 1, class 0).
ENTROPY_PARENT = (70, 30)
ENTROPY_CHILDREN = ((9, 1), (36, 4), (54, 6), (63, 7))


def entropy_rows() -> list[tuple[str, str, str, str]]:
    """List C1-child counts, C0-sibling counts, the sibling's class-0 share, and its entropy against the parent's."""
    rows = []
    for ones, zeros in ENTROPY_CHILDREN:
        other = (ENTROPY_PARENT[0] - ones, ENTROPY_PARENT[1] - zeros)
        higher = find_entropy(*other) > find_entropy(*ENTROPY_PARENT)
        share = other[1] / sum(other)
        rows.append((f"({ones},{zeros})", f"({other[0]},{other[1]})", f"{share:.3f}", "higher" if higher else "lower"))
    return rows


def find_entropy(*counts: int) -> float:
    """Find the entropy of class counts, in nats."""
    total = sum(counts)
    return -sum(n / total * math.log(n / total) for n in counts if n)
