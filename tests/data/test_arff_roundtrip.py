"""Whatever is written as ARFF, dense or sparse, is read back: random data, names and spellings."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from xdcc.data import load_arff

NAMES = st.text(st.characters(codec="utf-8"), max_size=8)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0)
MISSING = st.just(None)


@st.composite
def tables(draw):
    """Draw attributes (name, categories or None) with labels behind, and rows of their values."""
    n_features, n_labels = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    names = draw(st.lists(NAMES, min_size=n_features + n_labels, max_size=n_features + n_labels,
                          unique=True))  # fmt: skip
    categories = st.none() | st.lists(NAMES, min_size=1, max_size=4, unique=True)
    types = [draw(categories) for _ in range(n_features)]
    types += [draw(st.sampled_from([None, ["0", "1"], ["1", "0"]])) for _ in range(n_labels)]
    columns = []
    for position, type_ in enumerate(types):
        if position >= n_features:
            values = st.sampled_from(["0", "1"]) if type_ else st.sampled_from([0.0, 1.0])
        else:
            values = NUMBERS if type_ is None else st.sampled_from(type_)
        columns.append(values | MISSING)
    rows = draw(st.lists(st.tuples(*columns), min_size=1, max_size=5))
    return names, types, n_labels, rows


def quote(text):
    """Write a text with quotes and escapes."""
    text = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + "'"


def spell(value):
    if value is None:
        return "?"
    return quote(value) if isinstance(value, str) else repr(value)


def write(path, names, types, rows, sparse):
    lines = ["@relation r"]
    for name, type_ in zip(names, types, strict=True):
        declared = "numeric" if type_ is None else "{" + ",".join(map(quote, type_)) + "}"
        lines.append(f"@attribute {quote(name)} {declared}")
    lines.append("@data")
    for row in rows:
        if sparse:
            absent = [0.0 if type_ is None else type_[0] for type_ in types]
            cells = [f"{i} {spell(v)}" for i, v in enumerate(row) if v != absent[i]]
            lines.append("{" + ",".join(cells) + "}")
        else:
            lines.append(",".join(map(spell, row)))
    path.write_text("\n".join(lines), encoding="utf-8", newline="")


def as_number(value, type_, is_label):
    if value is None:
        return np.nan
    if isinstance(value, float):
        return value
    return float(value) if is_label else type_.index(value)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables())
def test_dense_and_sparse_files_hold_what_was_written(tmp_path_factory, table):
    names, types, n_labels, rows = table
    n_features = len(names) - n_labels
    numbers = np.array(
        [[as_number(v, types[i], i >= n_features) for i, v in enumerate(row)] for row in rows]
    )
    path = tmp_path_factory.mktemp("roundtrip") / "r.arff"
    for sparse in (False, True):
        write(path, names, types, rows, sparse)
        dataset = load_arff(path, n_labels=n_labels)
        X = dataset.X.toarray() if sparse else dataset.X
        assert_array_equal(X, numbers[:, :n_features])
        assert_array_equal(dataset.Y, numbers[:, n_features:])
        assert dataset.feature_names == tuple(names[:n_features])
        assert dataset.label_names == tuple(names[n_features:])
        assert dataset.categories == tuple(t and tuple(t) for t in types[:n_features])
        assert dataset.sample_weight is None
