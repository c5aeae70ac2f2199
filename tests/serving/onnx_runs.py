"""Predictions of ONNX models, in onnxruntime and in ONNX's own evaluator."""

import json

import numpy as np
import pandas as pd
import pytest

from xdcc.serving import to_onnx


def run_onnxruntime(proto, inputs):
    onnxruntime = pytest.importorskip("onnxruntime")
    used = {name for node in proto.graph.node for name in node.input}
    assert {constant.name for constant in proto.graph.initializer} <= used  # else it warns
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    return session.run(None, inputs)


def run_reference(proto, inputs):
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(proto).run(None, inputs)


def assert_same(run, model, X, dense=None):
    inputs = {"X": X if dense is None else dense}
    labels, proba, margins = run(to_onnx(model), inputs)
    checked = model._check_X(X)
    expected = np.asarray(model._proba(checked))
    np.testing.assert_allclose(proba, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(margins, model._margins(checked), rtol=2e-7, atol=2e-7)
    tie = np.abs(expected - 0.5) < 1e-6 if not hasattr(model, "rule_") else False
    assert (labels.dtype, proba.dtype, margins.dtype) == (np.int64, np.float32, np.float32)
    np.testing.assert_array_equal(
        np.where(tie, -1, labels), np.where(tie, -1, model._labels(checked))
    )


def properties_of(proto):
    return {entry.key: json.loads(entry.value) for entry in proto.metadata_props}


def coded(frame, proto):
    """Make X of a DataFrame, with the codes that the file describes."""
    columns, X = properties_of(proto).get("categories", {}), np.empty(frame.shape)
    for at, name in enumerate(frame.columns):
        values = frame[name].tolist()
        if str(name) in columns:
            column = columns[str(name)]
            codes = dict(zip(column["values"], column["codes"], strict=True))
            other = np.nan if column["unknown"] is None else column["unknown"]
            values = [np.nan if pd.isna(value) else codes.get(value, other) for value in values]
        X[:, at] = values
    return X
