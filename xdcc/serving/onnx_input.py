"""The input of a graph, and what the file says of it: names of columns, and codes of categories."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from xdcc.base.input_form import InputForm
from xdcc.serving.compiled_pipeline import Steps
from xdcc.serving.onnx_graph import Graph
from xdcc.serving.onnx_steps import StepsGraph

type Column = dict[str, Any]
"""Values of a column, their codes, and the code of any other value."""


def add_input(graph: Graph, form: InputForm, steps: Steps | None) -> tuple[str, dict[str, str]]:
    """Add the input X of an estimator, and the steps before it, if there are any.

    Returns the features of the estimator, float32, and the properties of the file.
    """
    if steps is None:
        values = graph.input("X", np.float32, form.n_features)
        columns = {at: _column(codes, _unknown(form, at)) for at, codes in form._codes.items()}
        return values, _properties(form, columns)
    of_steps = StepsGraph(graph, steps)
    values = of_steps.add(graph.input("X", np.float64, steps.input_form.n_features))
    columns = {at: _column({}, None) for at in of_steps.unread}
    for at, codes in of_steps.vocabulary.items():
        columns[at] = _column(codes, "error" if at in of_steps.rejects else len(codes))
    return values, _properties(steps.input_form, columns)


def _unknown(form: InputForm, column: int) -> int | str | None:
    if form.unknown_categories == "error" and form._codes[column]:
        return "error"
    code = form.code_of_unknown(column)
    return None if np.isnan(code) else int(code)


def _column(codes: Mapping[Any, float], unknown: int | str | None) -> Column:
    return {
        "values": list(codes),
        "codes": [int(code) for code in codes.values()],
        "unknown": unknown,
    }


def _properties(form: InputForm, columns: dict[int, Column]) -> dict[str, str]:
    names = list(range(form.n_features)) if form.names is None else form.names.tolist()
    found = {} if form.names is None else {"feature_names": json.dumps(names)}
    for at, column in columns.items():
        for value in column["values"]:
            if not isinstance(value, str | int | float):
                raise TypeError(
                    f"The column {names[at]!r} of X has the category {value!r}: a file of ONNX "
                    "stores categories that are text or numbers."
                )
    if columns:
        found["categories"] = json.dumps({names[at]: columns[at] for at in sorted(columns)})
    return found
