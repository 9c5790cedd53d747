"""Old name, until /tmp/lower_rooms.sh has run."""

from secateur.rows.packed_bytes import *  # noqa: F403
