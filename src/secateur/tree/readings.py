"""Old name, until /tmp/lower_rooms.sh has run."""

from secateur.tree.column_parsers import *  # noqa: F403
from secateur.tree.column_parsers import ColumnParser as Reading  # noqa: F401
