"""Ask a model for its answers: a class or a value for each row, never more rows than it may be asked."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.adapters.model_checks import fitted_names
from secateur.errors import InputError, ParameterError, UnsupportedModelError, first_line, shorten
from secateur.frames import frame_columns

MAKE_CLASSES = (
    "pass a function that gives a class for each row, such as lambda X: model.predict(X) > 0.5; or pass tolerance, "
    "such as '0.25sd', for a list of numbers"
)

LARGEST_WHOLE = 2**53  # beyond, floats skip whole numbers; infinity is larger than any
SPELT_WITH_AN = "AEFHILMNORSX"  # letters whose own names start with a vowel


def name_model(model: Any) -> str:
    """Name a model for a sentence: "a RandomForestClassifier", of a pipeline its last step."""
    steps = getattr(model, "steps", None)
    last = steps[-1][1] if isinstance(steps, list) and steps else model
    if not hasattr(last, "predict"):
        name = getattr(last, "__name__", "")
        return f"the function {name}" if name.isidentifier() else "a function"
    name = type(last).__name__
    is_spelt = name[:2].isupper()  # letter by letter: an "ex-gee-bee" classifier
    return f"{'an' if name[0] in (SPELT_WITH_AN if is_spelt else 'AEIOUaeiou') else 'a'} {name}"


class Respondent:
    """A model with ``predict``, or a function, that gives an answer for each of at most ``limit`` rows in all."""

    def __init__(self, model: Any, limit: int, *, gives_values: bool) -> None:
        self._model = model
        self._gives_values = gives_values
        self._predict = find_answering(model)
        self.limit = limit
        self.n_asked = 0

    def ask(self, rows: Any, n_rows: int) -> NDArray[Any]:
        """Ask for the class of each row, as the model labels it, or for its value."""
        if self.n_asked + n_rows > self.limit:
            raise ParameterError(
                f"The model may be asked about {self.limit:,} rows, and {self.n_asked + n_rows:,} would be needed."
            )
        self.n_asked += n_rows
        try:
            given = self._predict(rows)
        except Exception as error:  # a model may raise anything
            raise InputError(
                f"The model could not answer for the rows: {first_line(error)}. {self._find_remedy(rows)}"
            ) from error
        return check_answers(given, n_rows, gives_values=self._gives_values)

    def _find_remedy(self, rows: Any) -> str:
        """Describe what to do about rows that the model failed on."""
        columns = frame_columns(rows)
        absent = [name for name in fitted_names(self._model) or () if columns is not None and name not in columns]
        if absent:
            return f"It was fitted on columns that the rows lack: {shorten(absent)}."
        return (
            "Pass rows as the model takes them, in the columns that it was fitted on, or a function that makes its "
            "input of them."
        )


def find_answering(model: Any) -> Any:
    """Find what answers: ``predict`` of a model, or the function itself."""
    answering = getattr(model, "predict", None)
    if isinstance(model, type) or not callable(answering or model):
        raise UnsupportedModelError(
            f"Expected a fitted classifier or regressor with predict, or a function that gives an answer for each row, "
            f"found {model if isinstance(model, type) else type(model).__name__!s}."
        )
    return answering or model


def predicts_values(model: Any) -> bool:
    """Tell whether a model says of itself that it is a regressor."""
    try:  # models of other libraries have no tags, or fail to make them
        return bool(model.__sklearn_tags__().estimator_type == "regressor")
    except Exception:
        return getattr(model, "_estimator_type", None) == "regressor"


def check_answers(given: Any, n_rows: int, *, gives_values: bool = False) -> NDArray[Any]:
    """Check that answers are one class or value for each row, and give them as an array of plain labels or floats."""
    one = "value" if gives_values else "class"
    try:
        answers = np.asarray(given)
    except ValueError as error:
        raise InputError(
            f"Expected one {one} for each of {n_rows:,} rows from the model, found lists of different lengths."
        ) from error
    if answers.ndim == 2 and answers.shape[1] == 1:
        answers = answers[:, 0]
    if answers.shape != (n_rows,):
        hint = ""
        if answers.ndim == 2 and len(answers) == n_rows and not gives_values:
            hint = " If these are probabilities, pass a function that names the likeliest class."
        raise InputError(
            f"Expected one {one} for each of {n_rows:,} rows from the model, found an array of shape "
            f"{answers.shape}.{hint}"
        )
    if gives_values:
        if answers.dtype.kind not in "fiub" or not np.isfinite(answers).all():
            strange = answers[0] if answers.dtype.kind not in "fiub" else answers[~np.isfinite(answers)][0]
            raise InputError(f"Expected a finite number for each row from the model, found {strange!r}.")
        return answers.astype(np.float64)
    if answers.dtype.kind == "f":
        if np.isnan(answers).any():
            raise InputError("The model answered NaN for a row: expected a class for each row.")
        fractions = answers[(np.floor(answers) != answers) | (np.abs(answers) > LARGEST_WHOLE)]
        if len(fractions):
            raise InputError(
                f"The model answered with numbers such as {fractions[0]:g}, and rules say classes: {MAKE_CLASSES}."
            )
        return answers.astype(np.int64)
    if answers.dtype.kind in "iub":
        return answers
    labels = answers.tolist()
    strange = next((label for label in labels if not isinstance(label, (str, int, float)) or label != label), None)
    if strange is not None or any(label is None for label in labels):
        raise InputError(
            f"The model answered {strange!r} for a row: expected a text, a number or a truth value for each row."
        )
    kinds = {type(label) for label in labels}
    if len(kinds) > 1:
        raise InputError(
            f"The model answered with classes of several types, such as {shorten(sorted(set(map(repr, labels))))}: "
            "make them one type."
        )
    return np.array(labels)
