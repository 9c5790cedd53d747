"""Old name, until /tmp/lower_rooms.sh has run."""

from secateur.surrogates.growing import *  # noqa: F403
