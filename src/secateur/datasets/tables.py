"""Old name, until /tmp/lower_rooms.sh has run."""

from secateur.datasets.dataset import *  # noqa: F403
