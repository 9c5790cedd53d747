"""Slow versions, written from the definitions: every fast answer is compared with one, and raced against some.

They read numeric trees without missing values. A link is named by its child's node id, and a *deletion* maps each leaf,
left to right, to its deleted links, root to leaf. ``leaves`` narrows the work to some leaves of a large tree.
"""
