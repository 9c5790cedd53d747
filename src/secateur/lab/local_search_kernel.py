"""The sweeps of the optimal-tree local search, in plain Python that numba compiles.

The tree under search lives in heap slots: the children of slot ``t`` are ``2 t + 1`` and ``2 t + 2``. ``feature[t]``
is the split's column or -1 at a leaf; a row goes left when its code is at most ``cut[t]``, where a column's codes
number its distinct values in order. ``leaf[row]`` is the slot that a row ends in.
"""

from typing import Any, NamedTuple

KEEP, LEAF, LEFT_CHILD, RIGHT_CHILD, REROUTE, STUMP = range(6)  # what may replace a subtree


class Problem(NamedTuple):
    """The rows as the kernels read them."""

    codes: Any  # (n_features, n_rows) int32: rank of the value among its column's distinct values
    code_start: Any  # (n_features + 1,) where a column's distinct values start in `values`
    values: Any  # distinct values of all columns, ascending within a column
    y: Any  # (n_rows,) class index
    weight: Any  # (n_rows,) float64
    n_classes: int
    split_cost: float  # cp times the total weight
    least_gain: float  # an objective must fall by more than this to count as lower: sums of weights are rounded
    min_bucket: int
    n_slots: int
    first_deepest: int  # first slot of the deepest level, where no split may stand


class Workspace(NamedTuple):
    """The tree and room to work; nothing is allocated during a sweep."""

    feature: Any
    cut: Any
    threshold: Any
    label: Any
    leaf: Any
    rows: Any  # (n_rows,) rows of the node under study, the first n of them
    cost_left: Any  # (n_rows,) what a row costs in the left subtree
    cost_right: Any
    goal: Any  # (n_rows,) scratch for routing
    sums: Any  # (most codes, n_classes) weights by code
    counts: Any  # (most codes,) rows by code
    present: Any  # (most codes,) the codes of the node's rows, ascending, the first n_present of them
    class_weights: Any  # (n_slots, n_classes) class weights by leaf
    sizes: Any  # (n_slots,) rows by leaf


def improve(problem, work, orders):  # type: ignore[no-untyped-def]
    """Sweep over all nodes in the given random orders until a sweep changes nothing; return the number of sweeps."""
    for row in range(len(problem.y)):
        work.leaf[row] = route(problem, work, 0, row)
    for sweep in range(len(orders)):
        changed = False
        for place in range(len(orders[sweep])):
            slot = orders[sweep][place]
            if descends(work, slot, 0) and improve_node(problem, work, slot):
                changed = True
        if not changed:
            return sweep + 1
    return len(orders)


def route(problem, work, slot, row):  # type: ignore[no-untyped-def]
    """Follow a row from a slot to its leaf slot."""
    while work.feature[slot] >= 0:
        slot = 2 * slot + (1 if problem.codes[work.feature[slot], row] <= work.cut[slot] else 2)
    return slot


def descends(work, at, slot):  # type: ignore[no-untyped-def]
    """Whether a slot is a node of the subtree at another slot, not left over from an earlier tree."""
    while at > slot:
        at = (at - 1) // 2
        if work.feature[at] < 0:
            return False
    return at == slot


def collect_rows(problem, work, slot):  # type: ignore[no-untyped-def]
    """Gather the rows that reach a slot: those whose leaf lies below it."""
    n = 0
    for row in range(len(problem.y)):
        at = work.leaf[row]
        while at > slot:
            at = (at - 1) // 2
        if at == slot:
            work.rows[n] = row
            n += 1
    return n


def count_splits(work, slot, n_slots):  # type: ignore[no-untyped-def]
    """Count the splits at and below a slot."""
    total = 0
    for at in range(slot, n_slots):
        if work.feature[at] >= 0 and descends(work, at, slot):
            total += 1
    return total


def refitted_errors(problem, work, slot, n):  # type: ignore[no-untyped-def]
    """Weigh the collected rows that a subtree with majority labels gets wrong, and size its smallest leaf."""
    for k in range(n):
        goal = route(problem, work, slot, work.rows[k])
        work.goal[k] = goal
        work.sizes[goal] = 0
        for c in range(problem.n_classes):
            work.class_weights[goal, c] = 0.0
    for k in range(n):
        row = work.rows[k]
        work.class_weights[work.goal[k], problem.y[row]] += problem.weight[row]
        work.sizes[work.goal[k]] += 1
    errors = 0.0
    smallest = n
    for k in range(n):
        goal = work.goal[k]
        if work.sizes[goal] == 0:
            continue  # counted already
        smallest = min(smallest, work.sizes[goal])
        total, most = 0.0, 0.0
        for c in range(problem.n_classes):
            total += work.class_weights[goal, c]
            most = max(most, work.class_weights[goal, c])
        errors += total - most
        work.sizes[goal] = 0
    return errors, smallest


def improve_node(problem, work, slot):  # type: ignore[no-untyped-def]
    """Put the best replacement of a subtree in its place, if it lowers the objective; say whether it did."""
    n = collect_rows(problem, work, slot)
    if n == 0:
        return False
    left, right = 2 * slot + 1, 2 * slot + 2
    is_split = work.feature[slot] >= 0
    current, _ = refitted_errors(problem, work, slot, n)
    current += problem.split_cost * (count_splits(work, slot, problem.n_slots) if is_split else 0)
    best, action = current - problem.least_gain, KEEP
    if is_split:
        as_leaf = leaf_errors(problem, work, n)
        if as_leaf < best:
            best, action = as_leaf, LEAF
        for child in (left, right):
            errors, smallest = refitted_errors(problem, work, child, n)
            errors += problem.split_cost * count_splits(work, child, problem.n_slots)
            if errors < best and smallest >= problem.min_bucket:
                best, action = errors, LEFT_CHILD if child == left else RIGHT_CHILD
    new_feature, new_cut, new_threshold = -1, -1, 0.0
    deeper = is_split and (work.feature[left] >= 0 or work.feature[right] >= 0)
    if deeper:
        for k in range(n):
            row = work.rows[k]
            wrong_left = work.label[route(problem, work, left, row)] != problem.y[row]
            wrong_right = work.label[route(problem, work, right, row)] != problem.y[row]
            work.cost_left[row] = problem.weight[row] if wrong_left else 0.0
            work.cost_right[row] = problem.weight[row] if wrong_right else 0.0
        errors, found, cut, threshold = best_reroute(problem, work, n)
        errors += problem.split_cost * count_splits(work, slot, problem.n_slots)
        if found >= 0 and errors < best and fits_buckets(problem, work, slot, n, found, cut):
            best, action = errors, REROUTE
            new_feature, new_cut, new_threshold = found, cut, threshold
    elif slot < problem.first_deepest:
        errors, found, cut, threshold = best_stump(problem, work, n)
        errors += problem.split_cost
        if found >= 0 and errors < best:
            best, action = errors, STUMP
            new_feature, new_cut, new_threshold = found, cut, threshold
    if action == KEEP:
        return False
    apply_action(problem, work, slot, n, action, new_feature, new_cut, new_threshold)
    return True


def fits_buckets(problem, work, slot, n, feature, cut):  # type: ignore[no-untyped-def]
    """Whether every leaf that gets rows gets enough of them under a new split above unchanged children."""
    if problem.min_bucket == 1:
        return True
    old_feature, old_cut = work.feature[slot], work.cut[slot]
    work.feature[slot], work.cut[slot] = feature, cut
    _, smallest = refitted_errors(problem, work, slot, n)
    work.feature[slot], work.cut[slot] = old_feature, old_cut
    return smallest >= problem.min_bucket


def apply_action(problem, work, slot, n, action, feature, cut, threshold):  # type: ignore[no-untyped-def]
    """Carry out a replacement; give each leaf below the slot its rows again, and their majority class."""
    if action == LEAF:
        work.feature[slot] = -1
    elif action in (LEFT_CHILD, RIGHT_CHILD):
        promote(work, slot, 2 * slot + (1 if action == LEFT_CHILD else 2), problem.n_slots)
    else:
        work.feature[slot], work.cut[slot], work.threshold[slot] = feature, cut, threshold
        if action == STUMP:
            work.feature[2 * slot + 1] = -1
            work.feature[2 * slot + 2] = -1
    refitted_errors(problem, work, slot, n)
    for k in range(n):
        goal = work.goal[k]
        work.leaf[work.rows[k]] = goal
        work.label[goal] = 0
        for c in range(1, problem.n_classes):  # the first of equals
            if work.class_weights[goal, c] > work.class_weights[goal, work.label[goal]]:
                work.label[goal] = c


def promote(work, slot, child, n_slots):  # type: ignore[no-untyped-def]
    """Replace a subtree by one of its children: move the child's slots up, level by level from the top."""
    target, source, width = slot, child, 1
    while target < n_slots:
        for k in range(width):
            work.feature[target + k] = -1
            if source < n_slots:
                work.feature[target + k] = work.feature[source + k]
                work.cut[target + k] = work.cut[source + k]
                work.threshold[target + k] = work.threshold[source + k]
                work.label[target + k] = work.label[source + k]
        target, source, width = 2 * target + 1, 2 * source + 1, 2 * width


def leaf_errors(problem, work, n):  # type: ignore[no-untyped-def]
    """Weigh the collected rows outside their majority class."""
    for c in range(problem.n_classes):
        work.class_weights[0, c] = 0.0
    total = 0.0
    for k in range(n):
        row = work.rows[k]
        work.class_weights[0, problem.y[row]] += problem.weight[row]
        total += problem.weight[row]
    most = 0.0
    for c in range(problem.n_classes):
        most = max(most, work.class_weights[0, c])
    return total - most


def middle(problem, feature, low, high):  # type: ignore[no-untyped-def]
    """Find the threshold midway between two codes of a column, and the last code that it sends left."""
    start = problem.code_start[feature]
    threshold = float(problem.values[start + low]) / 2 + float(problem.values[start + high]) / 2
    first, last = low, high - 1
    while first < last:
        at = (first + last + 1) // 2
        if problem.values[start + at] <= threshold:
            first = at
        else:
            last = at - 1
    return threshold, first


def fill_codes(problem, work, n, feature, width, by_class):  # type: ignore[no-untyped-def]
    """Sum the collected rows by code: class weights, or the cost saved by going left (first column); count codes."""
    n_codes = problem.code_start[feature + 1] - problem.code_start[feature]
    few = n_codes > 4 * n
    if few:
        for k in range(n):
            work.counts[problem.codes[feature, work.rows[k]]] = 0
    else:
        for code in range(n_codes):
            work.counts[code] = 0
    n_present = 0
    for k in range(n):
        row = work.rows[k]
        code = problem.codes[feature, row]
        if work.counts[code] == 0:
            work.present[n_present] = code
            n_present += 1
            for c in range(width):
                work.sums[code, c] = 0.0
        work.counts[code] += 1
        if by_class:
            work.sums[code, problem.y[row]] += problem.weight[row]
        else:
            work.sums[code, 0] += work.cost_left[row] - work.cost_right[row]
    if few:
        work.present[:n_present].sort()
    else:
        n_present = 0
        for code in range(n_codes):
            if work.counts[code] > 0:
                work.present[n_present] = code
                n_present += 1
    return n_present


def best_stump(problem, work, n):  # type: ignore[no-untyped-def]
    """Find the split into two leaves with the fewest errors; Gini impurity breaks ties."""
    n_classes = problem.n_classes
    best, best_gini = float("inf"), float("inf")
    best_feature, best_cut, best_threshold = -1, -1, 0.0
    leaf_errors(problem, work, n)  # leaves the class totals in class_weights[0]
    for feature in range(len(problem.codes)):
        n_present = fill_codes(problem, work, n, feature, n_classes, True)
        for c in range(n_classes):
            work.class_weights[1, c] = 0.0
        seen, previous = 0, -1
        for place in range(n_present):
            code = work.present[place]
            if previous >= 0 and seen >= problem.min_bucket and n - seen >= problem.min_bucket:
                errors, gini = two_leaves(work, n_classes)
                if errors < best - problem.least_gain or (
                    errors < best + problem.least_gain and gini < best_gini - problem.least_gain
                ):
                    best, best_gini, best_feature = errors, gini, feature
                    best_threshold, best_cut = middle(problem, feature, previous, code)
            seen += work.counts[code]
            previous = code
            for c in range(n_classes):
                work.class_weights[1, c] += work.sums[code, c]
    return best, best_feature, best_cut, best_threshold


def two_leaves(work, n_classes):  # type: ignore[no-untyped-def]
    """Measure errors and weighted Gini impurity of class weights class_weights[1] and the rest of class_weights[0]."""
    left, right, most_left, most_right, squares_left, squares_right = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for c in range(n_classes):
        one = work.class_weights[1, c]
        other = work.class_weights[0, c] - one
        left += one
        right += other
        most_left = max(most_left, one)
        most_right = max(most_right, other)
        squares_left += one * one
        squares_right += other * other
    gini = 0.0
    if left > 0:
        gini += left - squares_left / left
    if right > 0:
        gini += right - squares_right / right
    return left - most_left + right - most_right, gini


def best_reroute(problem, work, n):  # type: ignore[no-untyped-def]
    """Find the split that sends each row to the child subtree that gets it right; the children stay unchanged."""
    base = 0.0
    for k in range(n):
        base += work.cost_right[work.rows[k]]
    best = float("inf")
    best_feature, best_cut, best_threshold = -1, -1, 0.0
    for feature in range(len(problem.codes)):
        n_present = fill_codes(problem, work, n, feature, 1, False)
        seen, previous, saved = 0, -1, 0.0
        for place in range(n_present):
            code = work.present[place]
            if previous >= 0 and seen >= problem.min_bucket and n - seen >= problem.min_bucket:
                errors = base + saved
                if errors < best - problem.least_gain:
                    best, best_feature = errors, feature
                    best_threshold, best_cut = middle(problem, feature, previous, code)
            seen += work.counts[code]
            previous = code
            saved += work.sums[code, 0]
    return best, best_feature, best_cut, best_threshold
