"""Old name, until /tmp/lower_rooms.sh has run."""

from secateur.rows.sources import *  # noqa: F403
