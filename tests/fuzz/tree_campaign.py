"""A run over numbered trees that is logged chunk by chunk: it goes on where the last one ended."""

from __future__ import annotations

import argparse
import json
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHUNK = 20
Chunks = list[dict[str, Any]]


def add_up(chunks: Chunks) -> Counter[str]:
    """Add up what the chunks of trees counted."""
    counts: Counter[str] = Counter()
    for chunk in chunks:
        counts.update(chunk["counts"])
    return counts


def describe_run(chunks: Chunks) -> dict[str, Any]:
    """Tell how many trees were judged, on how many something was wrong, and how long it took."""
    return {
        "trees": sum(chunk["trees"] for chunk in chunks),
        "failed": sum(len(chunk["failed"]) for chunk in chunks),
        "hours": round(sum(chunk["seconds"] for chunk in chunks) / 3600, 2),
    }


def run_campaign(
    parser: argparse.ArgumentParser,
    place: str,
    check_case: Callable[[int], Counter[str]],
    sum_up: Callable[[Chunks], dict[str, Any]],
    is_done: Callable[[argparse.Namespace, Chunks], bool],
) -> None:
    """Judge chunks of trees until that is done, or do what the command line asks instead."""
    parser.add_argument("--place", type=Path, default=Path(place))
    parser.add_argument("--tree", type=int, help="only judge the rules of this tree")
    parser.add_argument("--store", type=Path, help="only write the sums of the log to this file")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.tree is not None:
        print(dict(check_case(asked.tree)))
        return
    asked.place.mkdir(parents=True, exist_ok=True)
    path = asked.place / "log.jsonl"
    chunks: Chunks = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    if asked.store is not None:
        asked.store.write_text(json.dumps(sum_up(chunks), indent=1) + "\n", encoding="utf-8")
    while asked.store is None and not is_done(asked, chunks):
        chunks.append(_judge_chunk(sum(chunk["trees"] for chunk in chunks), check_case))
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(chunks[-1]) + "\n")
    print(json.dumps(sum_up(chunks), indent=1))


def _judge_chunk(first: int, check_case: Callable[[int], Counter[str]]) -> dict[str, Any]:
    begun, counts, failed = time.monotonic(), Counter[str](), []
    for number in range(first, first + CHUNK):
        try:
            counts += check_case(number)
        except Exception:
            failed.append(number)
            print(f"tree {number}\n{traceback.format_exc()[-2_500:]}", flush=True)
    seconds = round(time.monotonic() - begun, 2)
    return {"first": first, "trees": CHUNK, "counts": counts, "failed": failed, "seconds": seconds}
