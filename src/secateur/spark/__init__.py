"""Count, predict and audit Spark DataFrames without collecting rows.

Needs ``secateur[spark]`` and Java 17; collecting evidence needs secateur on the workers too. See ``docs/spark.md``.
"""

from secateur.spark.auditing import audit
from secateur.spark.rows import collect_evidence, predict
from secateur.spark.session import open_session

__all__ = ["audit", "collect_evidence", "open_session", "predict"]
