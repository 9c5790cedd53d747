"""Old name, until /tmp/lower_rooms.sh has run."""

from secateur.rows.staging import *  # noqa: F403
