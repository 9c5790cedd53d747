"""Training rows from anywhere (arrays, frames, files, databases), checked and in the tree's own terms."""
