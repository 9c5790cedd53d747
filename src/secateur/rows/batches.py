"""Old name, until /tmp/lower_rooms.sh has run."""

from secateur.rows.batched_rows import *  # noqa: F403
