"""What lists of rules make of ensembles: how often they say the same on rows held out, and how long they are.

One approach at a time, each split of each data set and model once; what is finished is kept in ``./reproduction`` and
reused. A peer gets the training rows and the model's answers on them, as its documentation asks, and its default
settings. Each fit runs in a process of its own that is stopped after a time limit; a data set and model that took too
long once is not tried again.

The licence of TE2Rules is non-commercial (CC BY-NC 4.0): it has an environment of its own (``make te2rules``), and
nothing of secateur imports it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

import secateur
from secateur.datasets import load
from secateur.lab.protocol import split_rows
from secateur.rows.whole_files import write_whole

__all__ = ["APPROACHES", "MODELS", "run"]

TIME_LIMIT = 120.0  # seconds of one list, by the clock
SMALL_FIRST = ("backache", "heart-h", "ionosphere", "cancer", "german", "spambase", "EEG", "adult")
N_SPLITS = 10


def make_forest(split: int) -> Any:
    return RandomForestClassifier(n_estimators=100, random_state=split)


def make_boosting(split: int) -> Any:
    return GradientBoostingClassifier(n_estimators=100, random_state=split)


def make_xgboost(split: int) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=100, random_state=split, n_jobs=1)


MODELS: dict[str, Callable[[int], Any]] = {"forest": make_forest, "boosting": make_boosting, "xgboost": make_xgboost}


def list_by_te2rules(model: Any, X: Any, answers: Any, X_new: Any, limit: int | None) -> tuple[int, int, Any]:
    """Give the rules, the conditions and the answers of TE2Rules' list."""
    from te2rules.explainer import ModelExplainer

    names = [f"x{column}" for column in range(X.shape[1])]
    explainer = ModelExplainer(model=model, feature_names=names, verbose=False)
    rules = explainer.explain(X=X.tolist(), y=answers.tolist())
    return len(rules), sum(len(rule.split(" & ")) for rule in rules), np.array(explainer.predict(X_new.tolist()))


def list_by_secateur(model: Any, X: Any, answers: Any, X_new: Any, limit: int | None) -> tuple[int, int, Any]:
    """Give the same of our list, of at most so many conditions; by default of at most 10 rules."""
    rules = secateur.approximate(model, X, held_out=X_new, max_conditions=limit)
    return len(rules), rules.n_conditions, rules.predict(X_new)


def list_by_greedy(model: Any, X: Any, answers: Any, X_new: Any, limit: int | None) -> tuple[int, int, Any]:
    """Give the same of imodels' greedy rule list: each rule asks one thing, and the rest goes on."""
    from imodels import GreedyRuleListClassifier

    fitted = GreedyRuleListClassifier().fit(X, answers)
    rules = [rule for rule in fitted.rules_ if "index_col" in rule]
    return len(rules), len(rules), np.asarray(fitted.predict(X_new)).astype(int)


def list_by_skope(model: Any, X: Any, answers: Any, X_new: Any, limit: int | None) -> tuple[int, int, Any]:
    """Give the same of skope-rules: rules for the answer 1, which a row gets if any of them holds.

    skope-rules 1.0.1 itself cannot be imported since Python 3.10 (``from collections import Iterable``), so imodels'
    copy of it finds the rules. As in skope-rules, any of them decides; imodels' own ``predict`` lets them vote.
    """
    fitted = _find_skope_rules(X, answers)
    return *_count_skope(fitted), (fitted._rules_vote(X_new) > 0).astype(int)


def list_by_skope_vote(model: Any, X: Any, answers: Any, X_new: Any, limit: int | None) -> tuple[int, int, Any]:
    """Give the same of these rules as imodels uses them: a row gets 1 if those that hold have over half the weight."""
    fitted = _find_skope_rules(X, answers)
    return *_count_skope(fitted), np.asarray(fitted.predict(X_new)).astype(int)


def _find_skope_rules(X: Any, answers: Any) -> Any:
    from imodels import SkopeRulesClassifier

    return SkopeRulesClassifier(random_state=0).fit(X, answers)


def _count_skope(fitted: Any) -> tuple[int, int]:
    return len(fitted.rules_), sum(len(rule.agg_dict) for rule in fitted.rules_)


# What an approach is called -> its package and the function that makes a list.
APPROACHES: dict[str, tuple[str, Callable[[Any, Any, Any, Any, int | None], tuple[int, int, Any]]]] = {
    "te2rules": ("te2rules", list_by_te2rules),
    "secateur": ("secateur", list_by_secateur),
    "greedy-list": ("imodels", list_by_greedy),
    "skope-rules": ("imodels", list_by_skope),
    "skope-vote": ("imodels", list_by_skope_vote),
}
BESIDE = "te2rules"  # the peer whose list tells how many conditions ours may have


def measure(
    approach: str, kind: str, dataset: str, split: int, limit: int | None, data_dir: str | None, sender: Any
) -> None:
    """Fit a model, let an approach make its list, and measure it on the rows left out."""
    warnings.simplefilter("ignore")
    X, X_new, y, y_new = split_rows(load(dataset, data_dir), split)
    model = MODELS[kind](split).fit(X, y)
    answers, wanted = model.predict(X).astype(int), model.predict(X_new).astype(int)
    make_list = APPROACHES[approach][1]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):  # some are talkative
        few = np.arange(80.0).reshape(40, 2)
        small = make_forest(0).set_params(n_estimators=2).fit(few, few[:, 0] > 30)
        make_list(small, few, small.predict(few).astype(int), few, None)  # what is loaded on first use does not count
        sender.send("fitted")
        start = time.process_time()  # of this process alone: others may be busy
        n_rules, n_conditions, said = make_list(model, X, answers, X_new, limit)
    sender.send(
        {
            "n_rules": n_rules,
            "n_conditions": n_conditions,
            "fidelity": float(np.mean(said == wanted)),
            "accuracy": float(np.mean(said == y_new)),
            "model_accuracy": float(np.mean(wanted == y_new)),
            "seconds": time.process_time() - start,
        }
    )


def measure_within(
    approach: str, kind: str, dataset: str, split: int, limit: int | None, data_dir: str | None
) -> dict[str, Any]:
    """Measure in a process of its own; say so where it took too long or failed."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    work = multiprocessing.Process(target=measure, args=(approach, kind, dataset, split, limit, data_dir, sender))
    work.start()
    sender.close()
    try:
        receiver.recv()  # the model is fitted
        found: dict[str, Any] = {"ended": "time limit"}
        if receiver.poll(TIME_LIMIT):
            found = {"ended": "yes", **receiver.recv()}
    except EOFError:
        found = {"ended": "failed"}
    work.kill()
    work.join()
    return found


def _find_limit(path: Path, approach: str) -> int | None:
    """Find how many conditions the peer's list has, for ours; None where it has none, or for a peer."""
    peer = Path(str(path).replace(f"/{approach}/", f"/{BESIDE}/"))
    if approach != "secateur" or not peer.is_file():
        return None
    found = json.loads(peer.read_text(encoding="utf-8"))
    return max(1, found["n_conditions"]) if found["ended"] == "yes" else None


def run(approach: str, datasets: list[str], n_splits: int, output: Path, data_dir: str | None) -> None:
    """Measure an approach on data sets and all models, split by split."""
    package = APPROACHES[approach][0]
    own = secateur.__version__ if package == "secateur" else version(package)
    described = {"version": own, "scikit-learn": version("scikit-learn")}
    too_long = set()
    for split in range(n_splits):
        for dataset in datasets:
            for kind in MODELS:
                path = output / "ensembles" / approach / kind / dataset / f"{split:02d}.json"
                found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
                if found is None or not described.items() <= found.items():
                    if (dataset, kind) in too_long:
                        continue
                    limit = _find_limit(path, approach)
                    measured = measure_within(approach, kind, dataset, split, limit, data_dir)
                    found = {**described, "limit": limit, **measured}
                    write_whole(path, json.dumps(found))
                if found["ended"] == "time limit":
                    too_long.add((dataset, kind))
                print(approach, split, dataset, kind, found, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("approach", choices=list(APPROACHES))
    parser.add_argument("--output", default="reproduction", type=Path, help="where finished splits are kept")
    parser.add_argument("--data-dir", help="directory of the published data files")
    parser.add_argument("--splits", default=N_SPLITS, type=int)
    parser.add_argument("--datasets", default=list(SMALL_FIRST), nargs="+", choices=SMALL_FIRST)
    given = parser.parse_args()
    run(given.approach, given.datasets, given.splits, given.output, given.data_dir)
