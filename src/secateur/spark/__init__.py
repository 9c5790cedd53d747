"""Rows on Spark: evidence, predictions and audits of data frames of which no row comes to the driver.

Needs ``secateur[spark]`` and Java 17; to collect evidence, the workers need secateur, too. See ``docs/spark.md``.
"""

from __future__ import annotations

from secateur.spark.auditing import audit
from secateur.spark.collection import collect_evidence
from secateur.spark.prediction import predict
from secateur.spark.session import open_session

__all__ = ["audit", "collect_evidence", "open_session", "predict"]
