"""The answer in words: what is predicted, how often that is right, what stands beside each line, and what to mind."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.results.audit import Audit
from secateur.results.fidelity import describe_fidelity, format_agreement
from secateur.results.measures import (
    FEW_ROWS,
    LEAST_SPARED,
    Measures,
    count_shown,
    describe_accuracy,
    describe_ranking,
    describe_rarer,
    find_interest,
    find_whole_moments,
    measure_rules,
    measure_values,
)
from secateur.rules.rule import Rule
from secateur.rules.rules import Rules
from secateur.tree.columns import show_text
from secateur.words.conditions import (
    count_class,
    count_of,
    count_points,
    count_rows,
    format_count,
    format_share,
    name_class,
)
from secateur.words.plain_words import describe_unknown, find_pattern, format_amount, format_limit

SHOWN_CLASSES = 5
FAR = 0.1  # from what a guess gives, as a share
# What tells that a tolerance is too wide: AUC lost beside the tree, and how many times the true share is stated.
LOST, WRONG_SCALE = 0.02, 1.5
EMPTY_NAMES = ("", "y", "target", "class", "label")  # of a column of labels; they say nothing about it


def describe_answer(rules: Rules) -> tuple[list[str], list[str]]:
    """Make the sentences before and after a list of rules, by unseen rows where there are any."""
    if rules.fidelity is not None:
        return describe_fidelity(rules)
    counts = rules.counts if rules.is_list else rules.leaf_counts
    sizes: NDArray[np.float64] = counts.sum(axis=0)
    promised = describe_faithful(rules) if rules.is_list else rules.guarantee
    if not sizes.sum() > 0 or not rules.is_ranked:
        return [], [*describe_measures(rules), promised]  # which values do not have
    if rules.tree.is_regression:
        first = describe_values(rules, "These rules predict", find_target(rules))
        return [first], [*describe_measures(rules), promised]
    first = describe_classes(rules.tree.class_names, sizes, find_target(rules), is_weighted=rules.is_weighted)
    return [first], [*warn_of_weights(rules), *describe_measures(rules), promised]


def describe_measures(rules: Rules) -> list[str]:
    """Say how often a list is right, how much of the class of interest it finds, and which line has the most of it.

    Of values: how far they are off.
    """
    if rules.tree.is_regression:
        return _describe_value_measures(rules)
    found = measure_rules(rules)  # a row that several rules of leaves cover is counted for each of them
    if found is None:
        return []
    right = describe_accuracy(
        found.accuracy, found.rows, found.names[found.guess], found.guess_accuracy, found.tree_accuracy
    )
    trained = None if rules.unseen is None else measure_rules(rules.change(unseen=None))
    if trained is not None:
        right = right.replace(";", f", {format_share(trained.accuracy)} in training;", 1)
    flatter = FLATTER if rules.unseen is None else None
    told = right, found.describe_class(), _warn_of_tolerance(rules, found), describe_ranking(rules), flatter
    return [*filter(None, told)]


def _warn_of_tolerance(rules: Rules, found: Measures) -> str | None:
    """Say so where the tolerance takes much of what the tree's probabilities tell, as it does beside a rare class."""
    counts = count_shown(rules)[0]
    if found.of is None or counts is None or not rules.keeps_shares:
        return None
    share = found.count_of(found.of)[0] / found.total
    stated = float(np.average(rules.shares[:, found.of], weights=counts.sum(axis=1)))
    told = [f"its AUC is {found.tree_auc - found.auc:.3f} lower than the tree's"] * (found.tree_auc - found.auc >= LOST)
    if share and not share / WRONG_SCALE <= stated <= share * WRONG_SCALE:
        told += [
            f"it states {format_share(stated)} {found.names[found.of]} on average, where {format_share(share)} are"
        ]
    smaller = f"a tolerance below {rules.tolerance:.6g}, such as {min(rules.tolerance, share) / 2:.1g}"
    return (
        f"The list is coarser than the tree: {' and '.join(told)}; {smaller}, keeps more." if told and share else None
    )


def _describe_value_measures(rules: Rules) -> list[str]:
    found = measure_values(rules)
    if found is None:
        return []
    if rules.unseen is None:
        return [found.describe(), FLATTER]
    return [
        found.describe(measure_values(rules.change(unseen=None))),
        *map(str, compare_with_mean(found.error, found.guess_error)),
    ]


def describe_values(rules: Rules, who: str, target: str | None) -> str:
    """Say who predicts what, and what the training targets are like, where that is known."""
    rows = float(np.nansum(rules.leaf_support))
    among = count_rows(rows, "training", is_weighted=rules.is_weighted)
    told = f"{who} {show_text(target or 'a number')}"
    if rules.target_moments is None:
        return f"{told}, from {among}."
    mean, spread = find_whole_moments(rules, rules.target_moments)
    return f"{told}: {among}, mean {format_amount(mean)}, standard deviation {format_amount(spread)}."


def describe_classes(
    names: Sequence[str],
    sizes: NDArray[np.float64],
    target: str | None = None,
    *,
    is_weighted: bool = False,
    who: str = "These rules predict",
) -> str:
    """Say who predicts what, and how often each class occurs; the most frequent classes come first."""
    total = float(sizes.sum())
    order = np.argsort(-sizes, kind="stable").tolist()
    told = [(format_share(float(sizes[place]) / total), names[place]) for place in order[:SHOWN_CLASSES]]
    shares = [f"{told[0][0]} are {told[0][1]}", *(count_class(*one) for one in told[1:])]
    if len(order) > SHOWN_CLASSES:
        rest = float(sizes[order[SHOWN_CLASSES:]].sum()) / total
        shares.append(f"{format_share(rest)} of {len(order) - SHOWN_CLASSES} other classes")
    joined = f"{', '.join(shares[:-1])} and {shares[-1]}" if len(shares) > 1 else shares[0]
    among = count_rows(total, "training", is_weighted=is_weighted)
    return f"{who} {show_text(target or 'the class')}: of {among}, {joined}."


def describe_measured(audit: Audit, rows: str) -> str:
    """Say the same of audited rows."""
    if audit.is_of_values:
        names = ("mae", "tree_mae", "rmse", "tree_rmse", "baseline")
        mae, by_tree, rmse, tree_rmse, guess = (format_amount(getattr(audit, name)) for name in names)
        told = (
            f"Off by {mae} on average (the tree: {by_tree}), {rmse} root mean square (the tree: {tree_rmse}), on {rows}"
        )
        return f"{told}; always saying their mean is off by {guess} root mean square."
    shares = audit.accuracy / 100, audit.baseline / 100, audit.tree_accuracy / 100
    return describe_accuracy(shares[0], rows, audit.baseline_class, *shares[1:])


def describe_faithful(rules: Rules, audit: Audit | None = None, trained: Audit | None = None) -> str:
    """Say how far rules agree with the tree, by an audit on other rows or on the training rows if any."""
    if rules.tree.is_regression:
        return _describe_near(rules)
    points = count_points(rules.tolerance)
    if rules.is_exact:
        whom, same = _name_rows(rules), "Compared with the tree, no answer changes"
        if rules.keeps_shares:
            what = "share of the rows as passed" if warn_of_weights(rules) else "probability"
            if rules.tree.n_classes > 2:  # the others share the rest as the rows of the line do
                return f"{same}, and its {what} moves by no more than {points}, for {whom}."
            return f"{same}, and no {what} moves by more than {points}, for {whom}."
        return f"{same} for {whom}."
    if rules.making.edits is not None:
        return rules.making.edits.describe()
    moved = f", or a share more than {points} away" if rules.keeps_shares else ""
    weighted = " (by weight)" if rules.is_weighted else ""
    allowed = (
        f"At most {100 * rules.budget:.6g} % of the training rows{weighted}, of all and of each class that the "
        f"tree predicts, get another class than from the tree{moved}"
    )
    if audit is not None:
        measured = describe_difference(
            100.0 - audit.agreement, count_of(audit.n_rows, "unseen row"), audit.difference_interval
        )
        return f"{allowed}. {measured}" if rules.budget else measured
    if rules.budget:
        return f"{allowed}; on new rows that may be more."
    if trained is not None:
        return describe_difference(100.0 - trained.agreement, "the training rows", None)
    return f"Some rows may be answered differently from the tree: {rules.method!r} allows it, and an audit counts them."


def _describe_near(rules: Rules) -> str:
    limit = format_limit(rules.tolerance, find_pattern(rules.tree))
    if rules.budget:
        weighted = " (by weight)" if rules.is_weighted else ""
        return (
            f"At most {100 * rules.budget:.6g} % of the training rows{weighted} get a value more than {limit} away "
            "from the tree's; on new rows that may be more."
        )
    if not rules.tolerance:
        return f"No value changes for {_name_rows(rules)}."
    return f"Each value is at most {limit} from the tree's, for {_name_rows(rules)}."


def _name_rows(rules: Rules) -> str:
    facts = find_limiting_facts(rules)
    return f"any row that satisfies {'; '.join(facts)}" if facts else "any possible row"


def describe_difference(percentage: float, rows: str, limits: Sequence[float] | None) -> str:
    """Say on how many of some rows the answer differs from the tree's; with limits, on how many of new ones."""
    said = f"The answer differs from the tree's on {format_share(percentage / 100)} of {rows}"
    if limits is None:
        return f"{said}; on new rows that may be more."
    return f"{said}; on new rows, 95 % interval {limits[0]:.1f} to {limits[1]:.1f} %."


def find_limiting_facts(rules: Rules) -> tuple[str, ...]:
    """Find the facts that the guarantee assumes, but for those that only say which columns are one category's."""
    groups = {str(group) for group in rules.tree.facts.groups}
    return tuple(fact for fact in rules.assumptions if fact not in groups)


def find_target(rules: Rules) -> str | None:
    """Find the name of what is predicted, where the labels have one."""
    return None if rules.training is None else name_target(rules.training.y)


def name_target(labels: Any) -> str | None:
    """Find what labels are called: the name of their column, if it says anything."""
    name = labels if isinstance(labels, str) else getattr(labels, "name", None)
    return name if isinstance(name, str) and name.lower() not in EMPTY_NAMES else None


def warn_of_weights(rules: Rules) -> list[str]:
    """Say so where the model weighs rows differently from how they are counted here, or was fitted to other labels."""
    weighed = rules.tree.counts
    if weighed is None or not rules.is_ranked or rules.tree.is_regression:
        return []
    own, counted = weighed[rules.paths.leaf_ids], rules.leaf_counts
    sums, totals = own.sum(axis=1), counted.sum(axis=1)
    known = (sums > 0) & (totals > 0)
    own, counted = own[known], counted[known]
    if np.allclose(own / sums[known, None], counted / totals[known, None], rtol=0, atol=1e-3):  # also if none is known
        return []
    if (alarm := _warn_of_labels(own, counted, rules.paths.leaf_class[known])) is not None:
        return [alarm]
    counted_how = "by the weights that were passed" if rules.is_weighted else "unweighted"
    return [
        f"Percentages count rows {counted_how}. The model was fitted with other weights or rows, so a line may "
        "predict a class that most of its rows do not have."
    ]


def _warn_of_labels(own: NDArray[np.float64], counted: NDArray[np.float64], said: NDArray[np.int64]) -> str | None:
    """Say so where the labels fit the leaves far worse than a guess, though the model's own do not; else None."""
    # Every class counts alike, so that class weights change nothing.
    present = (own.sum(axis=0) > 0) & (counted.sum(axis=0) > 0)

    def find_recall(counts: NDArray[np.float64]) -> float:
        right = np.bincount(said, weights=counts[np.arange(len(said)), said], minlength=counts.shape[1])
        return float((right[present] / counts.sum(axis=0)[present]).mean()) if present.any() else 0.0

    guess = 1 / max(int(present.sum()), 1)
    if find_recall(own) < guess + FAR or find_recall(counted) > guess - FAR:
        return None
    right, fitted = (float(counts[np.arange(len(said)), said].sum() / counts.sum()) for counts in (counted, own))
    return (
        f"The labels do not fit the model: it is right for {format_share(right)} of these rows, worse than a guess, "
        f"and for {format_share(fitted)} of those that it was fitted to. Are these the labels that it was fitted to?"
    )


FIRST_DECIDES = "The first line that holds decides."
SECTION_FIRST = "Find the section of a row; in it, the first line that holds decides."
STATES = "“States” is the probability of {name} that the list gives a row: the share in training{kept}."
KEPT = " in all leaves that the line answers for, rows of earlier lines included, kept within {points} of each"
OF_ITS_LEAVES = ", the share of its leaves"
OF_LEAVES = (
    "“The share of its leaves” is within {points} of that of every leaf that the line stands for; within the "
    "budget it also decides rows of other leaves, so its own rows show another share."
)
HELD_UP = "A line did not hold up if its unseen rows differ from its training rows by more than chance explains."
FLATTER = "New rows usually do worse than training rows: measure(X_new, y_new) counts them."
SPREAD = "Mean and spread (standard deviation) are of the targets of the rows that a line decides."
LEAVES = "Leaves are the least and the largest value of the tree's leaves that a line answers for."
COUNTED_TWICE = "A row counts for every rule that it satisfies, so the numbers add up to more than the table."


def describe_rows(line: Rule) -> str:
    """Word the rows beside a line: how many are of the class of interest, else of its own, unseen ones first.

    Of rules that approximate a model: the held-out rows, and the share of them for which the model says the same.
    """
    rules = line._rules
    if rules.fidelity is not None:
        return format_agreement(rules.fidelity, line.index)
    if rules.tree.is_regression:
        return _describe_value_rows(line)
    class_id = find_shown_class(line)
    counts, name = rules.counts[line.index], rules.tree.class_names[class_id]
    total = float(counts.sum())
    # Without rows, the numbers of one line beside none of the others would only make people wonder.
    is_known = not math.isnan(total) and (not rules.is_list or rules.is_ranked or rules.is_counted)
    trained = "rows unknown" if not is_known else "no row in training"
    if is_known and total:
        of = _count_rows(rules, float(counts[class_id]), total)
        trained = f"{count_class(of, name)} in training" if rules.is_ranked else f"the model counts {of} {name}"
    unseen = rules.unseen
    if unseen is None:
        share = (
            f", {format_share(float(counts[class_id]) / total)}" if is_known and total and line.share is None else ""
        )
        return f"{trained}{share}{describe_rarer_line(line)}{describe_stated(line)}"
    trained = f" ({trained.replace(count_class('', name), '', 1)})" if is_known else ""
    rows, hits = float(unseen.support[line.index]), float(unseen.counts[line.index, class_id])
    if not rows:
        return f"no unseen row{trained}{describe_stated(line)}"
    told = count_class(f"{'weight ' * unseen.is_weighted}{format_count(hits)} of {format_count(rows)}", name)
    if rows < FEW_ROWS:
        return f"{told}, too few to tell{trained}{describe_stated(line)}"
    share = f", {format_share(hits / rows)}" if line.share is None else ""
    fell = "; did not hold up" if rules.did_not_hold_up[line.index] else ""
    return f"{told}{share}{trained}{fell}{describe_rarer_line(line)}{describe_stated(line)}"


def _describe_value_rows(line: Rule) -> str:
    rules, total = line._rules, float(line._rules.support[line.index])
    if math.isnan(total) or (rules.is_list and not rules.is_ranked and not rules.is_counted):
        return f"rows unknown{describe_stated(line)}"
    if total == 0:
        return f"no row in training{describe_stated(line)}"
    weighed = f"weight {format_count(total)} in training" if rules.is_weighted else count_of(total, "training row")
    told = weighed if rules.is_ranked else f"the model counts {format_count(total)}"
    told += _word_moments(line.target_mean, line.target_spread)
    if rules.unseen is None:
        return f"{told}{describe_stated(line)}"
    rows, moments = float(rules.unseen.support[line.index]), rules.unseen.moments
    if not rows:
        return f"no unseen row ({told}){describe_stated(line)}"
    unseen = f"weight {format_count(rows)} unseen" if rules.unseen.is_weighted else count_of(rows, "unseen row")
    few = ", too few to tell" if rows < FEW_ROWS else ""
    beside = "" if moments is None else _word_moments(*moments[line.index].tolist())
    fell = "; did not hold up" if rules.did_not_hold_up[line.index] else ""
    return f"{unseen}{beside}{few} ({told}){fell}{describe_stated(line)}"


def find_shown_class(line: Rule) -> int:
    """Find the class whose rows are shown beside a line: that of interest in a list, else its own."""
    of = find_interest(line._rules) if line._rules.is_list else None
    return line.class_id if of is None else of


def _word_moments(mean: float | None, spread: float | None) -> str:
    if mean is None or spread is None:
        return ""
    return f", mean {format_amount(mean)}" + (f", spread {format_amount(spread)}" if spread else "")


def describe_stated(line: Rule) -> str:
    """Say which probability of the shown class a line states, if it states one; of values, what its leaves say."""
    rules = line._rules
    if rules.tree.is_regression:
        window = line.window
        if window is None or window[0] == window[1]:
            return ""
        return f"; leaves {format_amount(window[0])} to {format_amount(window[1])}"
    if line.share is None:
        return ""
    class_id = find_shown_class(line)
    stated, counts = float(rules.shares[line.index, class_id]), rules.counts[line.index]
    # Within a budget a line also decides rows of leaves that it does not stand for.
    shown = stated if not (rules.budget and counts.sum() > 0) else float(counts[class_id] / counts.sum())
    return f"; states {format_share(stated)}{OF_ITS_LEAVES if abs(stated - shown) > rules.tolerance + 1e-9 else ''}"


def describe_rarer_line(line: Rule) -> str:
    """Say so where most rows of a line are of another class than it states; else say nothing."""
    rules = line._rules
    if rules.unseen is not None and rules.unseen.support[line.index] >= FEW_ROWS:
        return describe_rarer(rules.unseen.counts[line.index], line.class_id, rules.tree.class_names, "unseen ")
    told = describe_rarer(rules.counts[line.index], line.class_id, rules.tree.class_names)
    covered, share = line.covered_support, line.covered_reliability
    if not told or covered is None or not covered or covered == line.support:
        return told
    # What earlier rules leave over may be mostly of another class, although all that the rule covers is not.
    of = _count_rows(rules, float(np.round((share or 0.0) * covered, 6)), covered)
    return f"{told} (it covers {count_class(of, line.class_name)} in training)"


def describe_assimilation(rule: Rule) -> str:
    """Say which ancestor's rule an assimilated rule became."""
    node = f"node {rule.assimilated_into}, an ancestor of its leaf" if rule.assimilated_into else "the root"
    unit = "weight" if rule.is_weighted else "rows"
    return (
        f"assimilated: it is now the rule of {node}, and covers all that comes there ({unit}: "
        f"{format_count(rule.covered_support or 0)} instead of {format_count(rule.source_support or 0)})"
    )


def title_rows(rules: Rules) -> str:
    """Name the rows that :func:`describe_rows` tells of, for the head of a column."""
    if rules.fidelity is not None:
        return "held-out rows"
    return "training rows" if rules.unseen is None else "unseen rows (training rows)"


def explain_reading(rules: Rules, shown: Sequence[Rule]) -> list[str]:
    """Say how lines and the numbers beside them are read, where that may be misread."""
    told = []
    if rules.is_list and any(len(section.rules) > 1 for section in rules.sections):
        told.append(SECTION_FIRST if len(rules.sections) > 1 else FIRST_DECIDES)
    if rules.tree.is_regression and rules.fidelity is None:
        told += [SPREAD] if rules.target_moments is not None else []
        told += [LEAVES] if any(map(describe_stated, shown)) else []
    elif rules.fidelity is None and any(map(describe_stated, shown)):
        of = find_interest(rules)
        name = "its class" if of is None else name_class(rules.tree.class_names[of])
        # Of three and more classes the promise is about a line's own class alone.
        is_kept = rules.keeps_shares and (of is None or rules.tree.n_classes == 2)
        kept = KEPT.format(points=count_points(rules.tolerance)) if is_kept else ""
        told.append(STATES.format(name=name, kept=kept))
        if any(describe_stated(line).endswith(OF_ITS_LEAVES) for line in shown):
            told.append(OF_LEAVES.format(points=count_points(rules.tolerance)))
    told += describe_unknown(rules, shown)
    told += [HELD_UP] if rules.unseen is not None and rules.did_not_hold_up.any() else []
    return [*told, COUNTED_TWICE] if counts_rows_twice(rules) else told


def counts_rows_twice(rules: Rules) -> bool:
    """Whether the rows of the lines add up to more than there are."""
    return bool(np.nansum(rules.support) > np.nansum(rules.leaf_support) * (1 + 1e-9))


def _count_rows(rules: Rules, hits: float, total: float) -> str:
    return f"{'weight ' * (rules.is_ranked and rules.is_weighted)}{format_count(hits)} of {format_count(total)}"


SHOWN_RULES = 5


class Caution(NamedTuple):
    """A warning: what it is about, and a sentence."""

    kind: str  # "unpredicted", "left-out", "guess" or "few-rows"
    text: str

    def __str__(self) -> str:
        return self.text


def find_cautions(rules: Rules, accuracy: float | None = None, guess: tuple[str, float] | None = None) -> list[Caution]:
    """Find what to warn of, given the share of some rows that is right, and their commonest class with its share."""
    return [*_find_unpredicted(rules), *_compare_with_guess(accuracy, guess), *_find_small(rules)]


def _find_unpredicted(rules: Rules) -> Iterator[Caution]:
    tree = rules.tree
    sizes = rules.leaf_counts.sum(axis=0) if rules.is_ranked else None
    if sizes is None and tree.counts is not None:
        sizes = tree.counts[0]
    by_tree, said = {*tree.leaf_class[tree.is_leaf].tolist()}, {*rules.class_ids.tolist()}
    unsaid = [place for place in range(tree.n_classes) if place not in said and (sizes is None or sizes[place] != 0)]
    for place in unsaid[:SHOWN_CLASSES]:
        of = "" if sizes is None else f" ({format_count(float(sizes[place]))} of {count_of(float(sizes.sum()), 'row')})"
        kind, why = "unpredicted", "it is nowhere the commonest class"
        if place in by_tree:
            kind, why = "left-out", "its rules were left out, within the budget"
        yield Caution(kind, f"No rule predicts {tree.class_names[place]}{of}: {why}.")
    if len(unsaid) > SHOWN_CLASSES:
        yield Caution("unpredicted", f"No rule predicts {len(unsaid) - SHOWN_CLASSES:,} more classes either.")


def _compare_with_guess(accuracy: float | None, guess: tuple[str, float] | None) -> Iterator[Caution]:
    if accuracy is None or guess is None or guess[1] >= 1:
        return
    name, share = guess
    if 1 - accuracy > (1 - LEAST_SPARED) * (1 - share):
        gained = "hardly more" if accuracy > share else "no more" if accuracy == share else "less"
        yield Caution(
            "guess",
            f"On the rows measured, the rules are right for {format_share(accuracy)}, {gained} often than always "
            f"saying {name} ({format_share(share)}).",
        )


def compare_with_mean(error: float, guessed: float) -> Iterator[Caution]:
    """Warn of values that are hardly nearer to the targets than always saying one; errors are root mean squares."""
    if guessed > 0 and error**2 > (1 - LEAST_SPARED) * guessed**2:
        gained = "hardly less" if error < guessed else "no less" if error == guessed else "more"
        yield Caution(
            "guess",
            f"On the rows measured, the rules are off by {format_amount(error)} (root mean square), {gained} than "
            f"always saying the mean ({format_amount(guessed)}).",
        )


def _find_small(rules: Rules) -> Iterator[Caution]:
    if not rules.is_ranked or rules.is_weighted:
        return
    rests = [] if rules.layout is None else rules.layout.rest_lines.tolist()
    never = {line for line in rests if not len(rules.stands_for(line))}  # each leaf of the section lies in a rule
    small = [str(line + 1) for line in np.flatnonzero(rules.support < FEW_ROWS).tolist() if line not in never]
    if small:
        listed = ", ".join(small[:SHOWN_RULES]) + (f" and {len(small) - SHOWN_RULES} more" * (len(small) > SHOWN_RULES))
        noun = "Line" if rules.is_list else "Rule"
        has, says = ("has", "its percentage says") if len(small) == 1 else ("have", "their percentages say")
        noun += "s" * (len(small) > 1)
        yield Caution("few-rows", f"{noun} {listed} {has} fewer than {FEW_ROWS} rows: {says} little.")
