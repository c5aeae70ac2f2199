"""Error messages name source files, but not the folder in which they were compiled."""

import re
from pathlib import Path

import numpy as np
import pytest
import xgboost as xgb
from xgboost.libpath import find_lib_path


def test_library_names_no_folder_of_the_build():
    library = Path(find_lib_path()[0]).read_bytes()
    if b"__ubsan_handle" in library or b"__tsan_init" in library:
        pytest.skip("sanitizers name the files of the build")
    for file in (b"src/learner.cc", b"plugin/multilabel/objective/logistic_loss.cc"):
        assert file + b"\0" in library
    assert re.findall(rb"/cpp_src/[^\0\n]*\.(?:cc|cu|h)\0", library) == []


def test_message_begins_with_the_path_in_the_sources():
    data = xgb.DMatrix(np.ones((2, 1)), [[1.0, 0.0], [0.0, 1.0]])
    where = r"^\[\d\d:\d\d:\d\d\] plugin/multilabel/param/param\.cc:\d+: "
    with pytest.raises(xgb.core.XGBoostError, match=where):
        xgb.train({"objective": "multilabel:logistic", "split_method": "none"}, data, 1)


@pytest.mark.parametrize("sketch_size", [0, 1])
@pytest.mark.parametrize("value", [1e30, -1.0, 3.0])
@pytest.mark.parametrize("soft", [False, True])
def test_labels_that_are_no_labels(value, soft, sketch_size):
    Y = np.zeros((20, 3))
    Y[7, 2] = value
    params = {"objective": "multilabel:logistic", "sketch_size": sketch_size}
    params |= {"soft_labels": True} if soft else {}
    with pytest.raises(
        xgb.core.XGBoostError,
        match=r"A label of `multilabel:logistic` must be .*; row 7, label 2 is",
    ):
        xgb.train(params, xgb.DMatrix(np.ones((20, 1)), Y), 1)


def test_no_column_of_labels():
    data = xgb.DMatrix(np.ones((4, 1)), np.empty((4, 0)))
    with pytest.raises(
        xgb.core.XGBoostError, match="`multilabel:logistic` needs a column of labels"
    ):
        xgb.train({"objective": "multilabel:logistic"}, data, 1)


@pytest.mark.parametrize("name", ["colsample_bytree", "colsample_bylevel", "colsample_bynode"])
def test_a_share_of_the_columns_that_is_nan(name):
    data = xgb.DMatrix(np.ones((4, 2)), np.eye(4, 2))
    with pytest.raises(xgb.core.XGBoostError, match=r"must be in \(0, 1\]\. Got: nan"):
        xgb.train({"objective": "multilabel:logistic", name: float("nan")}, data, 1)


@pytest.mark.parametrize("name", ["label_weight", "scale_pos_weight_per_label", "target_scale"])
@pytest.mark.parametrize("text", ["", "  "])
def test_a_list_without_text(name, text):
    data = xgb.DMatrix(np.ones((4, 2)), np.eye(4, 2))
    with pytest.raises(xgb.core.XGBoostError, match=f"{name} is empty. Give a list of numbers"):
        xgb.train({"objective": "multilabel:logistic", name: text}, data, 1)
