"""Frames of Polars and PyArrow, and lists of label names, against pandas and label matrices."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from xdcc import BinaryRelevance, TunedDecisionClassifierCV, metrics
from xdcc.base import frames
from xdcc.base.checks import check_fit_data
from xdcc.base.features import learn_features
from xdcc.base.frames import as_pandas, labels_of_names
from xdcc.base.labels import check_labels, check_labels_as_in_fit
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.scoring import get_scorer

NAN = np.nan
N_ROWS = 120
_ROWS = np.arange(N_ROWS)
FRAME = pd.DataFrame(
    {
        "colour": pd.Categorical(np.where(_ROWS % 11 == 0, None, np.array(list("ryb"))[_ROWS % 3])),
        "size": pd.Categorical(
            np.where(_ROWS % 2 == 0, "small", "big"), categories=["small", "big", "unused"]
        ),
        "height": np.where(_ROWS % 7 == 0, NAN, np.sin(_ROWS)),
        "count": _ROWS % 5,
        "tall": _ROWS % 4 == 0,
    }
)
LABELS = pd.DataFrame(
    {"warm": _ROWS % 3 == 0, "high": np.sin(_ROWS) > 0, "few": _ROWS % 5 < 2}
).astype(int)


def _polars(frame: pd.DataFrame, *, with_enum: bool = True) -> Any:
    pl = pytest.importorskip("polars")
    columns = {}
    for name in frame:
        column = frame[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            values = column.astype(object).where(column.notna(), None).tolist()
            is_enum = name == "size" and with_enum
            kind = pl.Enum(column.cat.categories.tolist()) if is_enum else pl.Categorical
            columns[name] = pl.Series(values, dtype=kind)
        elif column.isna().any():
            columns[name] = pl.Series([None if np.isnan(value) else value for value in column])
        else:
            columns[name] = pl.Series(column.to_numpy())
    return pl.DataFrame(columns)


def _arrow(frame: pd.DataFrame) -> Any:
    return pytest.importorskip("pyarrow").Table.from_pandas(frame)


class _Stream:
    """An Arrow producer of an unknown library."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


def _pandas_on_arrow(frame: pd.DataFrame) -> pd.DataFrame:
    pytest.importorskip("pyarrow")
    return _arrow(frame).to_pandas(types_mapper=pd.ArrowDtype)


FORMS = {
    "polars": _polars,
    "pyarrow": _arrow,
    "stream": lambda frame: _Stream(_arrow(frame)),
    "pandas on Arrow": _pandas_on_arrow,
    "pandas nullable": lambda frame: frame.convert_dtypes(),
}


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> Any:
    return FORMS[request.param]


def test_features_are_those_of_pandas(form: Any) -> None:
    expected, codes = learn_features(FRAME, "Model", takes_categories=True)
    found, encoded = learn_features(form(FRAME), "Model", takes_categories=True)
    np.testing.assert_array_equal(encoded, codes)
    assert found.names is not None
    assert found.names.tolist() == list(FRAME)
    assert {p: list(values) for p, values in (found.categories or {}).items()} == {
        p: list(values) for p, values in (expected.categories or {}).items()
    }
    np.testing.assert_array_equal(expected.check(form(FRAME[::2]), "Model"), codes[::2])


def test_models_are_those_of_pandas(form: Any) -> None:
    weight = 1.0 + _ROWS % 2
    expected = MultiLabelXGBClassifier(n_estimators=5).fit(FRAME, LABELS, sample_weight=weight)
    model = MultiLabelXGBClassifier(n_estimators=5).fit(
        form(FRAME), form(LABELS), sample_weight=weight
    )
    assert model.label_names_.tolist() == list(LABELS)
    np.testing.assert_array_equal(model.predict_proba(form(FRAME)), expected.predict_proba(FRAME))
    reordered = form(LABELS[["few", "warm", "high"]])
    assert model.score(FRAME, reordered) == expected.score(FRAME, LABELS)
    scorer = get_scorer("example_f1")
    assert scorer(model, form(FRAME), reordered) == scorer(expected, FRAME, LABELS)
    assert metrics.micro_f1(form(LABELS), form(LABELS)) == 1


def test_decisions_for_a_classifier_of_another_package(form: Any) -> None:
    from sklearn.ensemble import RandomForestClassifier

    numbers = FRAME[["count", "tall", "height"]].fillna(0.0)
    forest = RandomForestClassifier(5, random_state=0)
    expected = TunedDecisionClassifierCV(forest, cv=3).fit(numbers, LABELS)
    model = TunedDecisionClassifierCV(forest, cv=3).fit(form(numbers), form(LABELS))
    np.testing.assert_array_equal(
        model.predict_proba(form(numbers)), expected.predict_proba(numbers)
    )


def test_unknown_labels_are_null(form: Any) -> None:
    labels = LABELS.astype(float)
    labels.iloc[3, 1] = NAN
    found = check_labels(form(labels))
    np.testing.assert_array_equal(found.Y, labels)


def test_a_series_of_polars_is_a_binary_target() -> None:
    pl = pytest.importorskip("polars")
    found = check_labels(pl.Series("answer", ["no", "yes", "no"]))
    assert found.Y.T.tolist() == [[0, 1, 0]]
    assert found.output_form.names.tolist() == ["answer"]


def test_polars_needs_no_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = _polars(FRAME)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    pd.testing.assert_frame_equal(
        as_pandas(frame)[["height", "count", "tall"]], FRAME[["height", "count", "tall"]]
    )


def test_categories_of_polars_do_not_depend_on_those_before() -> None:
    pl = pytest.importorskip("polars")
    pl.Series(["z", "y"], dtype=pl.Categorical)
    first = pl.DataFrame({"a": pl.Series(["y", "z", "x"], dtype=pl.Categorical)})
    assert as_pandas(first)["a"].cat.categories.tolist() == ["x", "y", "z"]


def test_lazy_frames_are_to_be_collected() -> None:
    pl = pytest.importorskip("polars")
    with pytest.raises(ValueError, match="X is a lazy LazyFrame of polars; collect its rows first"):
        MultiLabelXGBClassifier().fit(pl.LazyFrame({"a": [1, 2]}), [[0], [1]])
    with pytest.raises(ValueError, match="Y is a lazy"):
        MultiLabelXGBClassifier().fit([[1], [2]], pl.LazyFrame({"a": [1, 0]}))


def test_streams_need_a_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        as_pandas(_Stream(_arrow(FRAME)))


@pytest.mark.parametrize(
    ("column", "type_name"), [("text", "(str|object)"), ("day", "datetime64|object")]
)
def test_text_and_dates_of_other_frames_are_refused(column: str, type_name: str) -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(
        {
            "text": ["a", None, "b"],
            "day": pl.Series(["2020-01-01"] * 3).str.to_datetime(),
            "height": [1.0, 2.0, 3.0],
        }
    )
    with pytest.raises(ValueError, match=rf"Column '{column}' of X .* has the type {type_name}"):
        learn_features(frame[[column, "height"]], "Model", takes_categories=True)


NAMES = [["red", "new"], ["red"], [], ["new", "old"]]
MATRIX = [[1, 0, 1], [0, 0, 1], [0, 0, 0], [1, 1, 0]]


@pytest.mark.parametrize(
    "Y",
    [
        NAMES,
        tuple(map(tuple, NAMES)),
        list(map(set, NAMES)),
        pd.Series(NAMES),
        np.array(NAMES, dtype=object),
    ],
)
def test_lists_of_label_names(Y: Any) -> None:
    estimator = BinaryRelevance()
    data = check_fit_data(estimator, np.eye(4), Y)
    assert estimator.label_names_.tolist() == ["new", "old", "red"]
    assert data.Y.tolist() == MATRIX
    others = check_labels_as_in_fit(estimator._output_form, np.eye(2), [["old"], ["red", "old"]])
    assert others.tolist() == [[0, 1, 0], [0, 1, 1]]
    with pytest.raises(ValueError, match="Y has the label 'blue', which did not occur in fit"):
        check_labels_as_in_fit(estimator._output_form, np.eye(1), [["blue"]])


def test_lists_of_names_in_a_frame_of_lists() -> None:
    pl = pytest.importorskip("polars")
    assert check_labels(pl.Series("tags", NAMES)).Y.tolist() == MATRIX


def test_a_model_of_lists_of_names_predicts_named_labels() -> None:
    names = [[name for name in LABELS if LABELS[name][row]] for row in range(N_ROWS)]
    model = MultiLabelXGBClassifier(n_estimators=5).fit(FRAME, names)
    columns = sorted(LABELS)
    expected = MultiLabelXGBClassifier(n_estimators=5).fit(FRAME, LABELS[columns])
    np.testing.assert_array_equal(model.predict_proba(FRAME), expected.predict_proba(FRAME))
    assert model.score(FRAME, names) == model.score(FRAME, LABELS)


def test_lists_of_other_names_are_refused_with_advice() -> None:
    with pytest.raises(ValueError, match="MultiLabelBinarizer makes a matrix of others"):
        check_labels([[1, 5], [1], []])


@pytest.mark.parametrize("Y", [[[0, 1], [1, 0]], ["no", "yes"], np.eye(2), [], [[], []]])
def test_other_labels_stay_as_they_are(Y: Any) -> None:
    assert labels_of_names(Y) is Y
