"""Old name, until /tmp/lower_rooms.sh has run."""

from secateur.adapters.model_checks import *  # noqa: F403
from secateur.adapters.model_checks import reject_damage as refuse_damage  # noqa: F401
