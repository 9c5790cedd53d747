"""Old name, until /tmp/lower_rooms.sh has run."""

from secateur.rows.written_values import *  # noqa: F403
