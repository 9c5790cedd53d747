"""Old name, until /tmp/lower_rooms.sh has run."""

from secateur.rows.whole_files import *  # noqa: F403
