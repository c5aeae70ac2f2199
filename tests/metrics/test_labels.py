"""Label metrics against numbers by hand, scikit-learn, and loops over known entries."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn import metrics as sk

from xdcc import metrics

# Four samples, three labels: one wrong label, all correct, no true or predicted label, all wrong.
Y_TRUE = [[1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0]]
Y_PRED = [[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 1, 0]]

BY_HAND = {
    "hamming_accuracy": 9 / 12,
    "subset_accuracy": 2 / 4,
    "example_f1": (2 / 3 + 1 + 1 + 0) / 4,
    "hamming_loss": 3 / 12,
    "subset_loss": 2 / 4,
    "jaccard": (1 / 2 + 1 + 1 + 0) / 4,
    "micro_f1": 2 * 2 / (4 + 3),
    "macro_f1": (2 / 3 + 1 / 2 + 0) / 3,
    "macro_f1_zero_division_1": (2 / 3 + 1 / 2 + 1) / 3,
    "example_precision": (1 + 1 + 1 + 0) / 4,
    "example_recall": (1 / 2 + 1 + 1 + 0) / 4,
    "micro_precision": 2 / 3,
    "micro_recall": 2 / 4,
    "macro_precision": (1 + 1 / 2 + 0) / 3,
    "macro_recall": (1 / 2 + 1 / 2 + 0) / 3,
}
OTHER_ZERO_DIVISION = {
    "example_f1": (2 / 3 + 1 + 0 + 0) / 4,
    "example_precision": (1 + 1 + 0 + 0) / 4,
    "example_recall": (1 / 2 + 1 + 0 + 0) / 4,
    "jaccard": (1 / 2 + 1 + 0 + 0) / 4,
    "macro_precision": (1 + 1 / 2 + 1) / 3,
    "macro_recall": (1 / 2 + 1 / 2 + 1) / 3,
}
SCIKIT_LEARN_RATIOS = {
    f"{ours}_{ratio}": partial(getattr(sk, f"{ratio}_score"), average=average)
    for ratio in ("f1", "precision", "recall")
    for ours, average in (("example", "samples"), ("micro", "micro"), ("macro", "macro"))
} | {"jaccard": partial(sk.jaccard_score, average="samples")}
SCIKIT_LEARN_SHARES = {"hamming_loss": sk.hamming_loss, "subset_accuracy": sk.accuracy_score}


def label_matrices(values=(0, 1)):
    return hnp.array_shapes(min_dims=2, max_dims=2, max_side=7).flatmap(
        lambda shape: st.tuples(
            hnp.arrays(np.float64, shape, elements=st.sampled_from(values)),
            hnp.arrays(np.float64, shape, elements=st.sampled_from((0, 1))),
            hnp.arrays(np.float64, shape[0], elements=st.integers(1, 4)),
        )
    )


@pytest.mark.parametrize("name", [name for name in BY_HAND if hasattr(metrics, name)])
def test_default_conventions_by_hand(name):
    assert getattr(metrics, name)(Y_TRUE, Y_PRED) == pytest.approx(BY_HAND[name])


def test_macro_f1_zero_division_by_hand():
    value = metrics.macro_f1(Y_TRUE, Y_PRED, zero_division=1)
    assert value == pytest.approx(BY_HAND["macro_f1_zero_division_1"])


@pytest.mark.parametrize("name", OTHER_ZERO_DIVISION)
def test_other_zero_division_by_hand(name):
    default = 0 if name.startswith("macro") else 1
    value = getattr(metrics, name)(Y_TRUE, Y_PRED, zero_division=1 - default)
    assert value == pytest.approx(OTHER_ZERO_DIVISION[name])


@pytest.mark.parametrize("name", ["micro_f1", "micro_precision", "micro_recall"])
def test_micro_zero_division(name):
    nothing = np.zeros((2, 3))
    assert getattr(metrics, name)(nothing, nothing) == 0
    assert getattr(metrics, name)(nothing, nothing, zero_division=1) == 1


def test_evaluate_has_all_metrics_in_order():
    result = metrics.evaluate(Y_TRUE, Y_PRED)
    assert list(result) == list(BY_HAND)
    assert result == pytest.approx(BY_HAND)
    assert all(type(value) is float for value in result.values())


def test_evaluate_passes_weights_on():
    times = [3, 1, 2, 1]
    repeated = metrics.evaluate(np.repeat(Y_TRUE, times, axis=0), np.repeat(Y_PRED, times, axis=0))
    assert metrics.evaluate(Y_TRUE, Y_PRED, sample_weight=times) == pytest.approx(repeated)


@settings(max_examples=60, deadline=None)
@given(label_matrices(), st.sampled_from([0, 1]))
def test_agrees_with_scikit_learn(case, zero_division):
    Y_true, Y_pred, weight = case
    if Y_true.shape[1] == 1:  # for scikit-learn, a single column is a binary problem, so add one
        Y_true, Y_pred = (np.hstack([Y, np.ones_like(Y)]) for Y in (Y_true, Y_pred))
    for name, oracle in SCIKIT_LEARN_RATIOS.items():
        options = {"zero_division": zero_division, "sample_weight": weight}
        ours = getattr(metrics, name)(Y_true, Y_pred, **options)
        assert ours == pytest.approx(oracle(Y_true, Y_pred, **options)), name
    for name, oracle in SCIKIT_LEARN_SHARES.items():
        ours = getattr(metrics, name)(Y_true, Y_pred, sample_weight=weight)
        assert ours == pytest.approx(oracle(Y_true, Y_pred, sample_weight=weight)), name


def known_pairs(Y_true, Y_pred):
    """The (true, predicted) pairs of known labels for each row that has any."""
    rows = [
        [(int(t), int(p)) for t, p in zip(true, pred, strict=True) if not np.isnan(t)]
        for true, pred in zip(Y_true, Y_pred, strict=True)
    ]
    return [row for row in rows if row]


def f1_of_pairs(pairs, zero_division):
    both = sum(t and p for t, p in pairs)
    total = sum(t + p for t, p in pairs)
    return 2 * both / total if total else zero_division


@settings(max_examples=60, deadline=None)
@given(label_matrices((0, 1, np.nan)))
def test_unknown_entries_are_ignored(case):
    Y_true, Y_pred, _ = case
    rows = known_pairs(Y_true, Y_pred)
    if not rows:
        with pytest.raises(ValueError, match="no known label"):
            metrics.evaluate(Y_true, Y_pred)
        return
    columns = known_pairs(Y_true.T, Y_pred.T)
    pairs = [pair for row in rows for pair in row]
    result = metrics.evaluate(Y_true, Y_pred)
    assert result["hamming_loss"] == pytest.approx(np.mean([t != p for t, p in pairs]))
    assert result["subset_accuracy"] == pytest.approx(
        np.mean([all(t == p for t, p in row) for row in rows])
    )
    assert result["example_f1"] == pytest.approx(np.mean([f1_of_pairs(row, 1) for row in rows]))
    assert result["macro_f1"] == pytest.approx(np.mean([f1_of_pairs(col, 0) for col in columns]))
    assert result["micro_f1"] == pytest.approx(f1_of_pairs(pairs, 0))

    flipped = np.where(np.isnan(Y_true), 1 - Y_pred, Y_pred)
    assert metrics.evaluate(Y_true, flipped) == result


def test_samples_with_weight_zero_are_ignored():
    # The third label is known only in the last sample, so it must not count with an F1 of 0.
    Y_true = [[1, 0, np.nan], [0, 1, np.nan], [1, 1, 0]]
    Y_pred = [[1, 0, 0], [1, 1, 0], [0, 0, 0]]
    expected = metrics.evaluate(Y_true[:2], Y_pred[:2])
    assert metrics.evaluate(Y_true, Y_pred, sample_weight=[1, 1, 0]) == expected


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, pd.DataFrame, list])
def test_containers_give_equal_results(container):
    Y_true, Y_pred = container(np.array(Y_TRUE)), container(np.array(Y_PRED))
    assert metrics.evaluate(Y_true, Y_pred) == pytest.approx(BY_HAND)


@pytest.mark.parametrize(
    ("Y_true", "Y_pred", "weight", "message"),
    [
        ([[0, 1]], [[0, 1, 1]], None, r"same shape .*got \(1, 2\) and \(1, 3\)"),
        ([0, 1], [0, 1], None, r"Y_true must have .*got shape \(2,\)"),
        ([[0, 1]], np.zeros((0, 2)), None, r"Y_pred must have at least one sample.*\(0, 2\)"),
        (np.zeros((2, 0)), np.zeros((2, 0)), None, r"Y_true must have .*one label.*\(2, 0\)"),
        ([[0, 1], [0, 2]], [[0, 1], [0, 1]], None, r"Y_true\[1, 1\] is 2, must be 0, 1 or NaN"),
        ([[0, 1]], [[0.5, 1]], None, r"Y_pred\[0, 0\] is 0\.5, must be 0 or 1"),
        ([[0, 1]], [[0, np.nan]], None, r"Y_pred\[0, 1\] is nan, must be 0 or 1"),
        ([[0, np.inf]], [[0, 1]], None, r"Y_true\[0, 1\] is inf"),
        ([["a", "b"]], [[0, 1]], None, "Y_true must be a matrix of the numbers 0 and 1"),
        ([[np.nan, np.nan]], [[0, 1]], None, "Y_true has no known label"),
        ([[0, 1]], [[0, 1]], [1, 1], r"sample_weight has shape \(2,\); it must be \(1,\)"),
        (
            [[0, 1]],
            [[0, 1]],
            [-1],
            "sample_weight is -1.0 in row 0; weights must be finite and not neg",
        ),
        ([[0, 1]], [[0, 1]], [np.nan], "sample_weight is nan in row 0"),
        ([[0, 1]], [[0, 1]], [0], "no known label in a sample of positive weight"),
    ],
)
@pytest.mark.parametrize("measure", [metrics.hamming_loss, metrics.macro_f1, metrics.evaluate])
def test_invalid_input_is_rejected(measure, Y_true, Y_pred, weight, message):
    with pytest.raises(ValueError, match=message):
        measure(Y_true, Y_pred, sample_weight=weight)


@pytest.mark.parametrize("zero_division", ["warn", 0.5, np.nan, None])
def test_other_zero_divisions_are_rejected(zero_division):
    with pytest.raises(ValueError, match="zero_division must be 0 or 1"):
        metrics.example_f1(Y_TRUE, Y_PRED, zero_division=zero_division)


@pytest.mark.parametrize("fill", [None, 0])
def test_columns_are_matched_by_name(fill):
    names = ["red", "green", "blue"]
    Y_true, Y_pred = (
        pd.DataFrame(np.array(Y, dtype=float), columns=names) for Y in (Y_TRUE, Y_PRED)
    )
    if fill is not None:
        Y_pred = Y_pred.astype(pd.SparseDtype(float, fill))
    order = ["blue", "red", "green"]
    assert metrics.evaluate(Y_true, Y_pred[order]) == metrics.evaluate(Y_TRUE, Y_PRED)
    assert metrics.evaluate(Y_true[order], Y_pred) == metrics.evaluate(Y_TRUE, Y_PRED)
    assert metrics.coverage_error(Y_true, Y_pred[order]) == metrics.coverage_error(Y_TRUE, Y_PRED)
    # The columns of an array have no names and are in the order of the DataFrame.
    assert metrics.evaluate(Y_true, np.array(Y_PRED)) == metrics.evaluate(Y_TRUE, Y_PRED)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (["red", "green", "black"], "missing: 'blue'; unexpected: 'black'"),
        (["red", "green"], "missing: 'blue'; unexpected: none"),
        (["red", "green", "green"], "missing: 'blue'; unexpected: none"),
        (["red", "green", "blue", "black"], "missing: none; unexpected: 'black'"),
        ([0, 1, 2], "columns of Y_pred must .*unexpected: '0', '1', '2'"),
    ],
)
def test_different_column_names_are_rejected(found, message):
    Y_true = pd.DataFrame([[0, 1, 0]], columns=["red", "green", "blue"])
    Y_pred = pd.DataFrame([[0, 1, 0, 1][: len(found)]], columns=found)
    with pytest.raises(ValueError, match=message):
        metrics.hamming_loss(Y_true, Y_pred)


def test_duplicate_names_are_matched_only_in_the_same_order():
    Y_true = pd.DataFrame([[0, 1, 0]], columns=["red", "red", "blue"])
    assert metrics.hamming_loss(Y_true, Y_true) == 0
    with pytest.raises(ValueError, match="each once, in any order"):
        metrics.hamming_loss(Y_true, Y_true[["blue", "red"]])


def test_a_message_lists_few_names():
    Y_true = pd.DataFrame(np.zeros((1, 40)), columns=[f"l{j}" for j in range(40)])
    with pytest.raises(ValueError, match=r"missing: 'l0', .*'l4' and 35 more"):
        metrics.hamming_loss(Y_true, pd.DataFrame(np.zeros((1, 40))))
