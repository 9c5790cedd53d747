"""Rows on Spark, counted, predicted and audited without collecting them."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from secateur import problem
from secateur.counting.counted_evidence import Evidence, EvidencePlan
from secateur.counting.targets import TargetCounter
from secateur.errors import InputError, ParameterError
from secateur.facts.stating import state_facts, whole_by_dtype
from secateur.methods.contract import MethodName
from secateur.results.audit_counts import AuditCounter
from secateur.rows.encoding import derives, own_features
from secateur.rows.row_source import Counter, Decider, ModelTerms, Progress, RowSource, Work
from secateur.rules.lines import LineCounter
from secateur.rules.rules import Rules
from secateur.spark.auditing import count_audit, count_lines, count_value_lines, count_values, sum_all_targets
from secateur.spark.columns import check_beside, list_tested, narrow_tree, place_columns, quote, typed_table
from secateur.spark.session import check_frame, check_rules, name_rows, spark_failures
from secateur.spark.tasks import CountingTask, RowReader, sum_counts
from secateur.tree.facts import NO_FACTS
from secateur.tree.tree import Tree


class SparkRows(RowSource):
    """A Spark DataFrame, with the names of the columns of its labels and weights."""

    def __init__(self, df: Any, y: Any = None, sample_weight: Any = None) -> None:
        check_frame(df)
        self.df, self.y, self.weight, self.name = df, y, sample_weight, "df"
        self.given = None  # proving something by these rows later would collect them
        self.is_weighted = sample_weight is not None
        self._vector: str | None = None
        self._types: Any = None

    @property
    def types(self) -> Any:
        """A table without rows, once the columns of a tree are found; None where they come from a vector."""
        return self._types

    def show(self, model: Any, columns: list[str] | None) -> tuple[Any, Any]:
        """Show a Spark model the DataFrame, whose columns carry the notes of their stages."""
        if not any(ancestor.__module__.startswith("pyspark.ml") for ancestor in type(model).__mro__):
            return None, None
        from secateur.adapters.spark_ml import find_features_column

        self._vector = find_features_column(model)
        return self.df, None

    def fit(self, tree: Tree) -> Tree:
        """Find the columns that the tree asks for, of the right types, and name them."""
        with spark_failures():
            placement = self._place(tree, own_features(tree) if derives(tree) else list_tested(tree))
        if placement.vector is not None or placement.names is None:
            return tree
        self._types = typed_table(self.df, placement.names)
        return tree if tree.feature_names is not None else replace(tree, feature_names=placement.names)

    def map(
        self, tree: Tree, work: Work[Any], *, checks_facts: bool = False, features: Collection[int] | None = None
    ) -> Iterator[Any]:
        """Reject: rows are not collected."""
        self._reject("All rows are read here")

    def map_unlabelled(self, tree: Tree, work: Callable[..., Any]) -> Iterator[Any]:
        """Reject: rows are not collected."""
        self._reject("All rows are read here")

    def fold(
        self, tree: Tree, counter: Counter[Any], *, checks_facts: bool = False, progress: Progress | None = None
    ) -> Any:
        """Count evidence in tasks and audits in SQL; Spark shows its own progress."""
        self.check_labelled()
        if isinstance(counter, TargetCounter):
            return sum_all_targets(counter, self.df, self.y, self.weight)
        if isinstance(counter, AuditCounter) and counter.rules.tree.is_regression:
            if not counter.rules.is_list:
                self._reject("The targets that each leaf's rule covers are added up in memory")
            return count_values(counter.rules, self.df, self.y, self.weight)
        if isinstance(counter, EvidencePlan):
            return self._count_evidence(counter)
        if isinstance(counter, AuditCounter):
            return count_audit(counter.rules, self.df, self.y, self.weight)
        if isinstance(counter, LineCounter):
            count = count_value_lines if tree.is_regression else count_lines
            return [count(rules, self.df, self.y, self.weight) for rules in counter.lists]
        self._reject("Only evidence and audits of one tree are counted on Spark")

    def decide(self, tree: Tree, decider: Decider) -> Any:
        """Predict in SQL, lazily."""
        rules: Any = getattr(decider, "rules", None)
        if decider.name != "predict" or not hasattr(rules, "to_sql"):
            self._reject(f"{decider.name} returns an array in memory")
        return predict(rules, self.df)

    def hold(self, find_terms: Callable[[], ModelTerms], why: str, instead: str = "") -> NoReturn:
        """Reject: rows are not collected."""
        self._reject(why, instead)

    def _reject(self, why: str, instead: str = "") -> NoReturn:
        with spark_failures():
            n_rows = self.df.count()
        raise InputError(
            f"{why}, but the {n_rows:,} rows of the DataFrame stay on Spark: pass some of them, such as "
            f"df.sample(0.01).toPandas(){instead}."
        )

    def _place(self, tree: Tree, features: Collection[int]) -> Any:
        taken = check_beside(self.df, self.y, self.weight, None if tree.is_regression else tree.classes)
        return place_columns(self.df, tree, list(features), taken=taken, vector=self._vector)

    def _count_evidence(self, plan: EvidencePlan) -> Evidence:
        """Count rows where they are, and add the counts up on Spark."""
        tree = plan.tree
        # Facts that the types alone tell need no look at rows, nor at columns that no split tests.
        by_type = state_facts(replace(tree, facts=NO_FACTS), self.types).facts
        narrows = not derives(tree) and tree.facts == by_type
        features = list_tested(tree) if narrows else own_features(tree)
        with spark_failures():
            placement = self._place(tree, features)
        narrow = narrow_tree(tree, features) if narrows else tree
        if narrow.feature_names is None:
            narrow = replace(narrow, feature_names=tuple(narrow.feature_name(f) for f in range(narrow.n_features)))
        reader = RowReader(
            narrow,
            self.weight is not None,
            placement.vector,
            tree.n_features,
            checks_facts=not narrows,
            typed=tuple(whole_by_dtype(tree, self.types)),
        )
        task = CountingTask(reader, replace(plan, tree=narrow))
        n_rows, cells, sums = sum_counts(self.df, placement, self.y, self.weight, task)
        return plan.from_numbers(n_rows, self.weight is not None, cells, sums)


def predict(rules: Rules, df: Any, column: str = "prediction") -> Any:
    """Add a lazily computed column of predictions to a Spark DataFrame.

    A row that the rules reject, such as one with a missing value that the tree does not take, gets NULL.

    Parameters
    ----------
    rules : Rules
    df : pyspark.sql.DataFrame
        Has the tree's columns by name; or, for a tree that names none, those columns alone; or one column of vectors.
    column : str, default="prediction"
        Name of the added column.

    Returns
    -------
    pyspark.sql.DataFrame
    """
    check_frame(df)
    check_rules(rules)
    if column in df.columns:
        raise ParameterError(f"df has a column {column!r} already: pass another name as column.")
    tree = rules.tree
    if tree.columns is not None and tree.columns.derived:
        raise InputError(
            f"The rules ask for {tree.columns.derived[0]!r}, which only the pipeline can make: add it to df, and make "
            "rules from a tree that has it as a column."
        )
    from pyspark.sql import functions as F

    features = list_tested(tree)
    whole = "row"
    while whole in {tree.feature_name(feature) for feature in features}:
        whole += "_"
    with spark_failures():
        placement = place_columns(df, tree, features)
        named = [made.alias(tree.feature_name(f)) for f, made in zip(features, placement.columns, strict=True)]
        # The row stays in one piece, so that its columns cannot clash with ours.
        rows = df.select(F.struct(*(F.col(quote(name)) for name in df.columns)).alias(whole), *named)
        with name_rows(rows) as table:
            said = df.sparkSession.sql(rules.to_sql("spark", table=table))
        return said.select(F.col(f"{quote(whole)}.*"), F.col(quote(said.columns[0])).alias(column))


def collect_evidence(
    model: Any,
    df: Any,
    y: str,
    *,
    sample_weight: str | None = None,
    method: MethodName | None = None,
    rf_tol: float = 1e-12,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    accepts_missing: bool | None = None,
    groups: Any = None,
    integers: Any = None,
    facts: Any = None,
) -> Evidence:
    """Count what rule methods need of the training rows, on Spark.

    The result equals that of :func:`secateur.collect_evidence` for all rows at once. Pass it to
    ``secateur.simplify(model, evidence=…)``.

    Parameters
    ----------
    model : fitted tree, pipeline or Tree
        Of pyspark.ml or of any other library that ``docs/adapters.md`` lists.
    df : pyspark.sql.DataFrame
        Has the tree's columns by name, in any order and among others; or, for a tree that names none, those columns
        alone beside y and sample_weight; or one column of vectors. Only columns that a split or a fact asks for are
        read.
    y : str
        The column of labels, as the model knows them.
    sample_weight : str, default=None
        The column of weights. Sums of whole weights are exact; others are added up in the order of the partitions.
    method : str, default=None
        The method that the evidence is for.
    rf_tol : float, default=1e-12
        As in :func:`secateur.collect_evidence`; so are all others.
    feature_names, class_names, accepts_missing, groups, integers, facts : default=None
    """
    check_frame(df)
    named: dict[str, Any] = {"feature_names": feature_names, "class_names": class_names, "groups": groups}
    named |= {"accepts_missing": accepts_missing, "integers": integers, "facts": facts}
    return problem.collect_evidence(model, df, y, sample_weight=sample_weight, method=method, rf_tol=rf_tol, **named)
