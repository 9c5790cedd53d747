"""pyspark.ml DecisionTreeClassificationModel and -RegressionModel, alone or at the end of a PipelineModel -> Tree.

Comparison: float64(x) <= threshold, so that NaN goes right. A split by categories lists those that go left among
``numCategories``. Spark keeps the smaller of the two sides as a set: a value that is none of the categories, NaN among
them, is not in that set. It goes right where the left side is kept (no more than half of the categories, rounded down),
else left. ``impurityStats`` are the weighted class counts; the class is that of the largest, the first of equals. Of a
regression tree the first of them is the weight of its rows, and ``prediction`` the value.

Nodes are numbered in preorder, the left child first, as Spark's own writer does; leaves in that order are what
``predictLeaf`` counts. They are read in one round trip: Spark lists them as its writer does, and Jackson, which
comes with Spark, writes the list as JSON, in which every double reads back to the same bits.

In a PipelineModel the stages before the tree are read by :mod:`~secateur.adapters.spark_stages`, and the tree is in
terms of the columns that go into the pipeline.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.adapters.nodes import Node, make_from_nodes, pack_codes
from secateur.adapters.pipelines.limits import name_cells
from secateur.adapters.spark_stages import Slot, trace_stages
from secateur.errors import ParameterError, UnsupportedModelError
from secateur.tree.columns import Columns
from secateur.tree.contract import check_tree
from secateur.tree.tree import Label, Tree

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
    """Return the stages before the tree, the tree, and those after it."""
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


# Classes.


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
        total = 0.0
        for one in stats:  # one after another, as Spark adds
            total += one
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
