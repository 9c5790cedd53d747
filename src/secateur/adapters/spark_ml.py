"""pyspark.ml DecisionTreeClassificationModel and -RegressionModel, alone or at the end of a PipelineModel -> Tree.

Comparison: float64(x) <= threshold, so that NaN goes right. A split by categories lists those that go left among
``numCategories``. Spark keeps the smaller of the two sides as a set: a value that is none of the categories, NaN among
them, is not in that set. It goes right where the left side is kept (no more than half of the categories, rounded down),
else left. ``impurityStats`` are the weighted class counts; the class is that of the largest, the first of equals. Of a
regression tree the first of them is the weight of its rows, and ``prediction`` the value.

Nodes are numbered in preorder, the left child first, as Spark's own writer does; leaves in that order are what
``predictLeaf`` counts. They are read in one round trip: Spark lists them as its writer does, and Jackson, which
comes with Spark, writes the list as JSON, in which every double reads back to the same bits.

In a PipelineModel the tree is in terms of the columns that go into the pipeline. Its stages pass named columns on, and
the tree reads one vector. Each number of that vector is a :class:`Slot`: a function of one original column, given by
its value for every label, for null and for NaN. Read as Spark 4 computes:

- StringIndexerModel: the place of a text among its labels. A null and a text that is not listed are one thing: an
  error, a row that is left out, or ("keep") the place after the last label.
- OneHotEncoderModel: 1 at the place that its input names, 0 elsewhere; the last place is left out with dropLast.
- ImputerModel: its surrogate for null and for missingValue, brought into the type of the column.
- VectorIndexerModel: the index of a number among those that it knows, for the numbers of a vector that it indexes.
- VectorAssembler: one number after another; null becomes NaN ("keep"), or the row is rejected or left out, as with NaN.

A row that is left out and one that is rejected have no prediction: both are rejected here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.adapters.pipelines.columns import name_cells
from secateur.adapters.reading import Node, make_from_nodes
from secateur.errors import ParameterError, UnsupportedModelError
from secateur.frames import frame_columns
from secateur.tree.columns import Columns
from secateur.tree.contract import check_tree
from secateur.tree.tree import Label, Tree, pack_codes

SUPPORTED, REGRESSOR = "DecisionTreeClassificationModel", "DecisionTreeRegressionModel"
STAGES_READ = (
    "Fit a pipeline of StringIndexer, OneHotEncoder, Imputer, VectorIndexer and VectorAssembler, on columns that other "
    "stages have prepared."
)
HINTS = {
    "RandomForestClassificationModel": "Pass one of its trees; behind other stages as PipelineModel([*stages, "
    "forest.trees[0]]).",
    "GBTClassificationModel": "Boosting is no vote: each of its trees corrects those before it.",
    "RandomForestRegressionModel": "Pass one of its trees.",
    "GBTRegressionModel": "Boosting is no mean: each of its trees corrects those before it.",
}
KEEP = "keep"
NAN = (math.nan,)


def read_model(model: Any, X: Any, sample_weight: Any, accepts_missing: bool | None) -> Tree:
    """Read a fitted tree, or a fitted pipeline that ends in one, or say why it cannot be read."""
    before, last, after = _split_stages(model)
    _check_supported(last)
    is_regression = type(last).__name__ == REGRESSOR
    classes, class_names = ([], None) if is_regression else _find_classes(last, before, after)
    if is_regression and after:
        raise UnsupportedModelError(
            f"The stage {type(after[0]).__name__} after the tree is not read. Pass a pipeline without it."
        )
    slots = trace_stages(before, X).get(last.getFeaturesCol())
    if slots is None:
        return _read_tree(last, [bool(accepts_missing)] * last.numFeatures, classes, class_names)
    if accepts_missing is not None:
        raise ParameterError("The stages of a pipeline say which columns take nulls: leave accepts_missing out.")
    if len(slots) != last.numFeatures:
        strange = next((slot.maker for slot in slots if slot.source is None), None)
        cause = "A column of vectors went in" if strange is None else f"The stage {strange} is not read"
        raise UnsupportedModelError(
            f"The stages before the tree make {len(slots)} numbers as far as they are read, but the tree was fitted on "
            f"{last.numFeatures}. {cause}. {STAGES_READ}"
        )
    takes_nan = [any(math.isnan(v) for v in (*(slot.missing or ()), *(slot.nan or ()))) for slot in slots]
    return _decode(_read_tree(last, takes_nan, classes, class_names), slots)


def find_features_column(model: Any) -> str | None:
    """Find the column of vectors that a tree reads; None where the stages before it make that column."""
    before, last, _ = _split_stages(model)
    column: str = last.getFeaturesCol()
    return None if column in trace_stages(before, None) else column


def _split_stages(model: Any) -> tuple[list[Any], Any, list[Any]]:
    if type(model).__name__ != "PipelineModel":
        return [], model, []
    stages = _flatten(model)
    trees = [place for place, stage in enumerate(stages) if hasattr(stage, "getFeaturesCol")]
    if not trees:
        raise UnsupportedModelError(f"The PipelineModel holds no tree. Pass one that ends in a {SUPPORTED}.")
    place = trees[-1]
    return stages[:place], stages[place], stages[place + 1 :]


def _flatten(pipeline: Any) -> list[Any]:
    return [
        inner
        for stage in pipeline.stages
        for inner in (_flatten(stage) if type(stage).__name__ == "PipelineModel" else [stage])
    ]


def _check_supported(model: Any) -> None:
    found = type(model).__name__
    if found not in (SUPPORTED, REGRESSOR):
        hint = HINTS.get(found, "Pass a fitted tree, or a PipelineModel that ends in one.")
        if hasattr(model, "fit"):
            hint = "It is not fitted yet: pass what fit returns."
        raise UnsupportedModelError(f"Expected a {SUPPORTED} or {REGRESSOR} of pyspark.ml, found {found}. {hint}")
    if not type(model._java_obj).__module__.startswith("py4j"):
        raise UnsupportedModelError(
            "This model is behind Spark Connect, where its nodes cannot be read. Save it and load it on the driver."
        )
    _find_jvm()  # before anything is asked of it
    if found == SUPPORTED and model.isDefined(model.thresholds):
        raise UnsupportedModelError(
            f"This {found} predicts by the thresholds {model.getThresholds()}, not by the largest class. Call "
            "model.clear(model.thresholds), or fit with weights instead."
        )


def _find_classes(tree: Any, before: Sequence[Any], after: Sequence[Any]) -> tuple[list[Label], tuple[str, ...] | None]:
    """Return the labels of the classes, and their names if a stage after the tree gives any."""
    classes: list[Label] = list(range(tree.numClasses))
    for stage in before:
        if type(stage).__name__ == "StringIndexerModel":
            outputs = stage.getOutputCols() if stage.isSet("outputCols") else [stage.getOutputCol()]
            for output, labels in zip(outputs, stage.labelsArray, strict=True):
                if output == tree.getLabelCol():
                    classes = [*labels, "__unknown"][: tree.numClasses]
    names = None
    for stage in after:
        found = type(stage).__name__
        if found != "IndexToString":
            raise UnsupportedModelError(f"The stage {found} after the tree is not read. Pass a pipeline without it.")
        if stage.getInputCol() == tree.getPredictionCol():
            listed = list(stage.getOrDefault("labels")) if stage.isDefined("labels") else []
            names = tuple(listed) if len(listed) == tree.numClasses else None
    if len(classes) != tree.numClasses:
        raise UnsupportedModelError(
            f"The pipeline's StringIndexer knows {len(classes)} labels, but the tree has {tree.numClasses} classes. "
            "Fit the pipeline as a whole."
        )
    return classes, names


# The tree over the numbers of the vector.


def _find_jvm() -> Any:
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is None:
        raise UnsupportedModelError("The model's Spark session has ended. Read the model while it is running.")
    return context._jvm


def _list_nodes(model: Any) -> list[dict[str, Any]]:
    jvm = _find_jvm()
    try:
        companion = getattr(jvm.org.apache.spark.ml.tree, "DecisionTreeModelReadWrite$NodeData$")
        nodes = getattr(companion, "MODULE$").build(model._java_obj.rootNode(), 0)._1()
        jackson = jvm.com.fasterxml.jackson
        mapper = jackson.databind.ObjectMapper()
        visibility = getattr(jackson.annotation, "JsonAutoDetect$Visibility")
        mapper.setVisibility(jackson.annotation.PropertyAccessor.ALL, visibility.NONE)
        mapper.setVisibility(jackson.annotation.PropertyAccessor.FIELD, visibility.ANY)
        text = mapper.writeValueAsString(jvm.scala.jdk.javaapi.CollectionConverters.asJava(nodes))
    except Exception as error:  # a class that is not there makes py4j fail in one way or another
        raise UnsupportedModelError(
            f"This version of Spark does not list the nodes of a tree as Spark 4 does ({type(error).__name__})."
        ) from error
    records: list[dict[str, Any]] = json.loads(text)
    return records


def _read_tree(model: Any, takes_nan: list[bool], classes: list[Label], class_names: Sequence[str] | None) -> Tree:
    records = _list_nodes(model)
    sizes = {split["featureIndex"]: split["numCategories"] for split in map(_set_split, records) if split is not None}
    return make_from_nodes(
        [_read_record(model, record) for record in records],
        categories=[tuple(range(sizes[f])) if f in sizes else None for f in range(model.numFeatures)],
        **({"classes": classes, "class_names": class_names} if classes else {}),
        n_features=model.numFeatures,
        accepts_missing=takes_nan,
        dtype="float64",
    )


def _set_split(record: dict[str, Any]) -> dict[str, Any] | None:
    """Return the split of a node that splits by categories, else None."""
    split: dict[str, Any] = record["split"]
    return split if record["leftChild"] >= 0 and split["numCategories"] >= 0 else None


def _read_record(model: Any, record: dict[str, Any]) -> Node:
    """Read a node as Spark's writer lists it; a leaf has no children."""
    counts = [float(value) for value in record["impurityStats"]]
    left, right, split = record["leftChild"], record["rightChild"], record["split"]
    if type(model).__name__ == REGRESSOR:
        counts = counts[:1]
        if left < 0:
            return Node(leaf_class=0, counts=counts, value=float(record["prediction"]))
    if left < 0:
        return Node(leaf_class=_largest(model, counts), counts=counts)
    listed = [float(value) for value in split["leftCategoriesOrThreshold"]]
    if _set_split(record) is None:
        return Node(left, right, split["featureIndex"], listed[0], counts=counts)
    n_categories = split["numCategories"]
    others_left = len(listed) > n_categories // 2
    codes = sorted(int(value) for value in listed) + [n_categories] * others_left
    return Node(left, right, split["featureIndex"], missing_left=others_left, codes=codes, counts=counts)


def _largest(model: Any, stats: Sequence[float]) -> int:
    """Find the class that Spark predicts: from the counts, or from shares where it is told to make no counts."""
    if not model.getRawPredictionCol() and model.getProbabilityCol():
        total = reduce(add, stats, 0.0)  # one after another, as Spark adds
        stats = [one / total for one in stats] if total else stats
    return int(np.argmax(stats))


# The tree over the columns before the stages.


class Source(NamedTuple):
    """What the tree asks of one column: a number, cells of a number, or labels."""

    labels: tuple[Label, ...] | None = None
    cuts: tuple[float, ...] | None = None
    is_closed: bool = False
    takes_missing: bool = False


def _decode(encoded: Tree, slots: Sequence[Slot]) -> Tree:
    """Read the tree over slots as one over the columns that they come from."""
    tested = np.unique(encoded.feature[~encoded.is_leaf]).tolist()
    strange = next((slots[place] for place in tested if slots[place].source is None), None)
    if strange is not None:
        raise UnsupportedModelError(
            f"The tree tests what the stage {strange.maker} makes, which is not read back to its columns. {STAGES_READ}"
        )
    names = list(dict.fromkeys(slot.source for slot in slots if slot.source is not None))
    asked: dict[str, list[int]] = {}
    for place in tested:
        asked.setdefault(str(slots[place].source), []).append(place)
    sources = {name: _settle_source(name, places, encoded, slots) for name, places in asked.items()}
    settled = [sources.get(name, Source()) for name in names]
    feature, threshold = encoded.feature.copy(), encoded.threshold.copy()
    missing_left = np.zeros(encoded.n_nodes, dtype=bool)
    codes: dict[int, NDArray[np.int64]] = {}
    for node in np.flatnonzero(~encoded.is_leaf).tolist():
        slot = slots[encoded.feature[node]]
        feature[node] = names.index(str(slot.source))
        source = settled[feature[node]]
        missing_left[node] = source.takes_missing and _missing_side(encoded, node, slot)
        if source.labels is not None:
            threshold[node] = math.nan
            codes[node] = _left_codes(encoded, node, slot, source)
    tree = replace(
        encoded,
        feature=feature,
        threshold=threshold,
        missing_left=missing_left,
        **pack_codes(codes, encoded.n_nodes),
        n_features=len(names),
        accepts_missing=np.array([source.takes_missing for source in settled], dtype=bool),
        categories=tuple(source.labels for source in settled),
        feature_names=tuple(names),
        columns=Columns(
            cuts=tuple(source.cuts for source in settled),
            closed=tuple(source.is_closed for source in settled),
            remarks=tuple(_collect_remarks(asked, slots)),
            asked=tuple(names.index(name) for name in asked),
            encoded=encoded,
        ),
    )
    check_tree(tree)
    return tree


def _settle_source(name: str, places: Sequence[int], encoded: Tree, slots: Sequence[Slot]) -> Source:
    own = [slots[place] for place in places]
    takes_missing = all(slot.missing is not None for slot in own)
    pairs = list(zip(places, own, strict=True))
    is_label = [slot.labels is not None or encoded.categories[place] is not None for place, slot in pairs]
    if all(is_label):
        labels: dict[Label, None] = {}
        for place, slot in pairs:
            labels |= dict.fromkeys(slot.labels if slot.labels is not None else encoded.categories[place] or ())
            if slot.marker is not None:
                labels[int(slot.marker) if slot.marker == int(slot.marker) else slot.marker] = None
        is_closed = any(slot.labels is not None and slot.unlisted is None for slot in own)
        return Source(tuple(labels), None, is_closed, takes_missing)
    if any(is_label):
        raise UnsupportedModelError(
            f"The tree tests column {name!r} both as a number and by its categories. Fit with one of the two."
        )
    markers = [slot.marker for slot in own if slot.marker is not None]
    if not markers:
        return Source(takes_missing=takes_missing)
    limits = encoded.threshold[np.isin(encoded.feature, places)].tolist()
    limits += [end for marker in markers for end in (math.nextafter(marker, -math.inf), marker)]
    cuts = sorted({cut + 0.0 for cut in limits})  # -0.0 is 0.0
    return Source(name_cells(cuts), tuple(cuts), False, takes_missing)


def _goes_left(encoded: Tree, node: int, values: tuple[float, ...], name: str | None) -> bool:
    """Tell whether a split of a slot sends a value left, or all of several values that it may be."""
    if not encoded.is_categorical[node]:
        sides = {bool(value <= encoded.threshold[node]) for value in values}
    else:
        listed = set(encoded.left_codes(node).tolist())
        unlisted = len(encoded.categories[encoded.feature[node]] or ())
        sides = {(value if 0 <= value < unlisted and value == int(value) else unlisted) in listed for value in values}
    if len(sides) > 1:
        raise UnsupportedModelError(
            f"Where a missing {name} goes depends on whether the column holds whole numbers, floats or doubles, to "
            "which the Imputer rounds its surrogate. Pass the rows, too, which show the types."
        )
    return sides.pop()


def _missing_side(encoded: Tree, node: int, slot: Slot) -> bool:
    """Tell whether a missing value goes left; reject null and NaN that part, for rules do not tell them apart."""
    side = _goes_left(encoded, node, slot.missing or (math.nan,), slot.source)
    if slot.nan is not None and _goes_left(encoded, node, slot.nan, slot.source) != side:
        raise UnsupportedModelError(
            f"To the pipeline, null and NaN in column {slot.source!r} are not the same: its Imputer fills nulls alone. "
            "Fit the Imputer with missingValue=NaN, or the VectorAssembler with handleInvalid='error'."
        )
    return side


def _left_codes(encoded: Tree, node: int, slot: Slot, source: Source) -> NDArray[np.int64]:
    values: list[tuple[float, ...]]  # the numbers that each code may become; none where the row is rejected
    if source.cuts is not None:  # the highest number of each cell stands for it
        values = [slot.of_number(number) for number in (*source.cuts, math.inf)]
    elif slot.labels is None:  # numbers that are categories to the tree alone
        values = [*(slot.of_number(float(label)) for label in source.labels or ()), (math.nan,)]
    else:
        found = [*(slot.of_label(label) for label in source.labels or ()), None if source.is_closed else slot.unlisted]
        values = [() if value is None else (value,) for value in found]
    return np.flatnonzero([bool(some) and _goes_left(encoded, node, some, slot.source) for some in values])


def _collect_remarks(asked: dict[str, list[int]], slots: Sequence[Slot]) -> list[str]:
    remarks = []
    for name, places in asked.items():
        fill = next((s.missing[0] for p in places if (s := slots[p]).maker == "ImputerModel" and s.missing), None)
        if fill is not None:
            remarks.append(f"A missing {name} counts as {fill:.6g}.")
        if any(slots[place].missing is not None and slots[place].nan is None for place in places):
            remarks.append(f"To the pipeline, NaN in {name} is an error and null is not: the rules take both as null.")
    return remarks


# What the stages before the tree make of their columns, number by number.


@dataclass(frozen=True)
class Slot:
    """One number that stages make of one column; None stands for a row that is rejected."""

    source: str | None  # the column that it comes from; None where a stage cannot be inverted
    maker: str = ""  # the last stage that had a part in it
    labels: tuple[Label, ...] | None = None  # what the column holds; None where it is read as a number
    values: tuple[float, ...] = ()  # the number for each label
    unlisted: float | None = None  # the number for a label that is not listed
    missing: tuple[float, ...] | None = NAN  # the number for null; several where the column's unknown type decides
    nan: tuple[float, ...] | None = NAN  # the number for NaN, likewise
    marker: float | None = None  # a number that counts as null, too

    @property
    def is_plain(self) -> bool:
        """Tell whether it is the column as it is."""
        return self.source is not None and not self.maker

    def of_label(self, label: Label) -> float | None:
        """Return the number for a label."""
        labels = self.labels or ()
        return self.values[labels.index(label)] if label in labels else self.unlisted

    def of_number(self, number: float) -> tuple[float, ...]:
        """Return the numbers that a number may become."""
        return (self.missing or NAN) if number == self.marker else (number,)

    def mapped(self, maker: str, function: Callable[[float], float | None]) -> Slot:
        """Apply another stage to a column of labels; None is a value that the stage rejects."""
        found = [function(value) for value in self.values]
        if any(value is None for value in found):  # a label that every row is rejected for
            return Slot(None, maker)
        return replace(
            self,
            maker=maker,
            values=tuple(value for value in found if value is not None),
            unlisted=None if self.unlisted is None else function(self.unlisted),
            missing=map_each(self.missing, function),
            nan=map_each(self.nan, function),
        )


def map_each(values: tuple[float, ...] | None, function: Callable[[float], float | None]) -> tuple[float, ...] | None:
    """Apply a stage to some values; None if it rejects one of them."""
    found = [] if values is None else [function(value) for value in values]
    listed = tuple(value for value in found if value is not None)
    return listed if values is not None and len(listed) == len(values) else None


Made = dict[str, tuple[Slot, ...]]


def trace_stages(stages: Sequence[Any], X: Any) -> Made:
    """Find the slots of every column that the stages make, one for an output that is not read; X shows types."""
    made: Made = {}
    for stage in stages:
        STAGES.get(type(stage).__name__, _trace_unknown)(stage, made, X)
    return made


def _ends(stage: Any) -> tuple[list[str], list[str]]:
    """Name the columns that a stage takes, and those that it makes."""

    def find(one: str, many: str) -> list[str]:
        if stage.hasParam(many) and stage.isSet(many):
            return list(stage.getOrDefault(many))
        return [stage.getOrDefault(one)] if stage.hasParam(one) and stage.isDefined(one) else []

    return find("inputCol", "inputCols"), find("outputCol", "outputCols")


def _scalar(made: Made, name: str) -> Slot:
    """Return the one number of a column; a column that no stage made is one of the user's own."""
    own = made.get(name, (Slot(name),))
    return own[0] if len(own) == 1 else Slot(None, "a vector")


def _trace_unknown(stage: Any, made: Made, X: Any) -> None:
    name = type(stage).__name__
    outputs = _ends(stage)[1]
    if not outputs:
        raise UnsupportedModelError(
            f"The pipeline has the stage {name}, which may change any column. Fit a pipeline without it."
        )
    made |= dict.fromkeys(outputs, (Slot(None, name),))


def _trace_indexer(stage: Any, made: Made, X: Any) -> None:
    is_kept, maker = stage.getHandleInvalid() == KEEP, type(stage).__name__
    for name, output, labels in zip(*_ends(stage), stage.labelsArray, strict=True):
        slot = Slot(None, maker)
        if _scalar(made, name).is_plain:
            other = float(len(labels)) if is_kept else None
            missing = None if other is None else (other,)
            slot = Slot(name, maker, tuple(labels), tuple(map(float, range(len(labels)))), other, missing, missing)
        made[output] = (slot,)


def _trace_one_hot(stage: Any, made: Made, X: Any) -> None:
    is_kept, drops_last = stage.getHandleInvalid() == KEEP, stage.getDropLast()
    maker = type(stage).__name__
    for name, output, size in zip(*_ends(stage), stage.categorySizes, strict=True):
        before = _scalar(made, name)
        slots = []
        for place in range(size + is_kept - drops_last):

            def indicate(value: float, place: int = place, size: int = size) -> float | None:
                if not 0 <= value < size and not is_kept:
                    return None
                return float((int(value) if 0 <= value < size else size) == place)

            slots.append(Slot(None, maker) if before.labels is None else before.mapped(maker, indicate))
        made[output] = tuple(slots)


def _trace_imputer(stage: Any, made: Made, X: Any) -> None:
    surrogates = stage.surrogateDF.head()
    marker = float(stage.getMissingValue())
    if math.isinf(marker):
        raise UnsupportedModelError("The pipeline's Imputer takes infinite numbers for missing, and rows hold none.")
    for name, output in zip(*_ends(stage), strict=True):
        before = _scalar(made, name)
        fills = _cast_fill(float(surrogates[name]), None if X is None else _kind_of(X, name), name)
        slot = Slot(name, type(stage).__name__, missing=fills, nan=fills)
        if not math.isnan(marker):
            slot = replace(slot, nan=NAN, marker=marker)
        made[output] = (slot if before.is_plain else Slot(None, type(stage).__name__),)


def _cast_fill(fill: float, kind: str | None, name: str) -> tuple[float, ...]:
    """Cast a surrogate to the type of its column, as Spark does."""
    by_kind = {"float64": fill, "float32": float(np.float32(fill)), "whole": float(math.trunc(fill))}
    if kind is None:
        return tuple(dict.fromkeys(by_kind.values()))
    if kind not in by_kind:
        raise UnsupportedModelError(
            f"The pipeline's Imputer fills column {name!r} of type {kind}, which is not read. Cast it to double "
            "before fitting."
        )
    return (by_kind[kind],)


def _kind_of(X: Any, name: str) -> str | None:
    """Find the type of a column's numbers; None where the frame has no such column."""
    names = frame_columns(X)
    if names is None or name not in names:
        return None
    if hasattr(X, "sparkSession"):
        found = dict(X.dtypes)[name]
        whole = found in ("tinyint", "smallint", "int", "bigint")
        return "whole" if whole else {"double": "float64", "float": "float32"}.get(found, found)
    import narwhals as nw

    try:
        kind = nw.from_native(X, eager_only=True).schema[name]
    except TypeError:
        return None
    return "whole" if kind.is_integer() else {nw.Float64: "float64", nw.Float32: "float32"}.get(type(kind), str(kind))


def _trace_vector_indexer(stage: Any, made: Made, X: Any) -> None:
    (name,), (output,) = _ends(stage)
    maker = type(stage).__name__
    is_kept = stage.getHandleInvalid() == KEEP
    slots = list(made.get(name, ()))
    if len(slots) != stage.numFeatures:  # of a vector that came from elsewhere
        slots = [Slot(None, maker)] * stage.numFeatures
    for place, codes in stage.categoryMaps.items():
        code_of = {float(number): float(code) for number, code in codes.items()}
        other = float(len(code_of)) if is_kept else None

        def look_up(value: float, code_of: dict[float, float] = code_of, other: float | None = other) -> float | None:
            return code_of.get(value, other)

        slot = slots[place]
        if slot.labels is not None:
            slots[place] = slot.mapped(maker, look_up)
        elif slot.source is None or slot.marker is not None:
            slots[place] = Slot(None, maker)
        else:
            numbers = sorted(code_of, key=lambda number: code_of[number])
            slots[place] = replace(
                slot,
                maker=maker,
                labels=tuple(int(number) if number == int(number) else number for number in numbers),
                values=tuple(code_of[number] for number in numbers),
                unlisted=other,
                missing=map_each(slot.missing, look_up),
                nan=map_each(slot.nan, look_up),
            )
    made[output] = tuple(slots)


def _trace_assembler(stage: Any, made: Made, X: Any) -> None:
    is_kept = stage.getHandleInvalid() == KEEP
    inputs, outputs = _ends(stage)
    slots: list[Slot] = []
    for name in inputs:
        own = made.get(name, (Slot(name),))
        slots += own if is_kept or len(own) > 1 else [_reject_nan(own[0])]
    made[outputs[0]] = tuple(slots)


def _reject_nan(slot: Slot) -> Slot:
    def keep(values: tuple[float, ...] | None) -> tuple[float, ...] | None:
        return None if values is None or any(map(math.isnan, values)) else values

    return replace(slot, missing=keep(slot.missing), nan=keep(slot.nan))


STAGES: dict[str, Callable[[Any, Made, Any], None]] = {
    "StringIndexerModel": _trace_indexer,
    "OneHotEncoderModel": _trace_one_hot,
    "ImputerModel": _trace_imputer,
    "VectorIndexerModel": _trace_vector_indexer,
    "VectorAssembler": _trace_assembler,
}
