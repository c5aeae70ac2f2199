"""Folds, the end label and early stopping on any number of workers: the model of the local chain.

Few values per feature, and fewer rows than bins, so that merged quantiles are those of all rows.
The workers are threads of this process, which start at once.
"""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas.api.types import union_categoricals
from scipy import sparse
from xgboost.collective import Config

from xdcc import chain
from xdcc.base.fit_data import FitData
from xdcc.base.folds import stratified_folds
from xdcc.decision.label_metrics import COUNTED

dask = pytest.importorskip("dask", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402

from xdcc.dask import DaskDynamicChainClassifier  # noqa: E402
from xdcc.dask.client_rows import draw_positions  # noqa: E402
from xdcc.dask.worker_rows import deal_folds, positive_bits  # noqa: E402

N_SAMPLES, N_FEATURES, N_LABELS = 160, 4, 3
RNG = np.random.default_rng(0)
X = RNG.integers(0, 9, size=(N_SAMPLES, N_FEATURES)).astype(np.float32)
Y = (X[:, :N_LABELS] + X[:, 1:] + RNG.normal(scale=4, size=(N_SAMPLES, N_LABELS)) > 9).astype(float)
UNKNOWN = np.where(RNG.random(Y.shape) < 0.2, np.nan, Y)
X[RNG.random(X.shape) < 0.1] = np.nan
WEIGHT = RNG.uniform(0.2, 3, N_SAMPLES)
X_NEW, Y_NEW = X[:50] + 1, Y[:50]


@pytest.fixture(scope="module", params=[1, 2, 3], ids=lambda n: f"{n} workers")
def client(request: pytest.FixtureRequest) -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=request.param,
            threads_per_worker=1,
            processes=False,
            protocol="tcp",
            dashboard_address=":0",
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def rows(array: Any, lengths: tuple[int, ...]) -> Any:
    """Cut an array or CSR matrix into chunks of rows."""
    ends = np.cumsum(lengths)
    parts = [array[end - n : end] for n, end in zip(lengths, ends, strict=True)]
    chunks = [
        da.from_delayed(
            dask.delayed(part),
            shape=part.shape,
            dtype=part.dtype,
            meta=sparse.csr_matrix((0, 0)) if sparse.issparse(part) else None,
        )
        for part in parts
    ]
    return da.concatenate(chunks)


def csr(array: np.ndarray) -> sparse.csr_matrix:
    """Make a matrix that does not store missing values."""
    row, column = np.nonzero(~np.isnan(array))
    return sparse.csr_matrix((array[row, column], (row, column)), shape=array.shape)


def assert_same_model(
    client: Any, params: dict[str, Any], found_args: Any, expected_args: Any, X: Any
) -> DaskDynamicChainClassifier:
    """Fit on Dask and in memory, and compare; return the model of Dask."""
    small = {"n_estimators": 2, "max_depth": 3, "cv": 2, **params}
    estimator = DaskDynamicChainClassifier(**small)
    estimator.client = client
    (data, further), (all_data, all_further) = found_args, expected_args
    found = estimator.fit(*data, coll_cfg=Config(timeout=120), **further)  # a hang is an error
    expected = chain.DynamicChainClassifier(**small).fit(*all_data, **all_further)

    assert found.n_rounds_ == expected.n_rounds_
    assert found.end_label_ == expected.end_label_
    assert [len(boosters) for boosters in found.boosters_] == [
        len(boosters) for boosters in expected.boosters_
    ]
    assert hasattr(found, "stop_scores_") == hasattr(expected, "stop_scores_")
    if hasattr(found, "stop_scores_"):
        np.testing.assert_allclose(found.stop_scores_, expected.stop_scores_, rtol=1e-12)
    np.testing.assert_array_equal(found.chain_order(X).labels, expected.chain_order(X).labels)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-5)
    return found


def draw_lengths(random: np.random.Generator, n_rows: int) -> tuple[int, ...]:
    """Cut some rows into up to five chunks, of which some can be empty."""
    cuts = np.sort(random.integers(0, n_rows + 1, size=random.integers(5)))
    return tuple(np.diff([0, *cuts, n_rows]).tolist())


@pytest.mark.parametrize("seed", range(6))
def test_is_the_local_model(client: Any, seed: int) -> None:
    """Drawn parameters, data and chunks.

    Not by Hypothesis, which stops where a thread uses Python's random numbers while it draws.
    """
    random = np.random.default_rng(seed)
    is_out_of_fold = random.random() < 0.7
    params = {
        "propagate": "auto" if is_out_of_fold else "in_sample",
        "ensemble": is_out_of_fold and random.random() < 0.3,
        "end_label": ("auto", True, False)[random.integers(3)],
        "separate_and_conquer": random.random() < 0.7,
        "labels_per_round": int(random.integers(1, 3)),
        "stop_measure": random.choice(list(COUNTED)).item(),
        "stop_tolerance": random.choice([0.003, 0.05]),
        "random_state": seed,
    }
    form = csr if random.random() < 0.4 else np.asarray
    labels = UNKNOWN if random.random() < 0.5 else Y
    chunks, eval_chunks = draw_lengths(random, N_SAMPLES), draw_lengths(random, len(X_NEW))
    here: list[Any] = [form(X), labels]
    there = [rows(part, chunks) for part in here]
    if random.random() < 0.5:
        here.append(WEIGHT)
        there.append(rows(WEIGHT, chunks))
    of_eval: dict[str, Any] = {}
    of_eval_there: dict[str, Any] = {}
    if random.random() < 0.5:
        of_eval["eval_set"] = [(form(X_NEW), Y_NEW)]
        of_eval_there["eval_set"] = [(rows(form(X_NEW), eval_chunks), rows(Y_NEW, eval_chunks))]
    assert_same_model(client, params, (there, of_eval_there), (here, of_eval), form(X))


@pytest.mark.parametrize("early_stopping_rounds", [None, 1])
def test_workers_with_unknown_labels_or_without_weight(
    client: Any, early_stopping_rounds: int | None
) -> None:
    """A worker without weight, a label that only one knows, one that is known without weight."""
    weight, labels = WEIGHT.copy(), Y.copy()
    weight[:100] = 0
    labels[:130, 0] = np.nan
    labels[100:, 1] = np.nan
    chunks = (80, 40, 40)
    params = {"chain_length": 2, "early_stopping_rounds": early_stopping_rounds}
    with pytest.warns(UserWarning, match="label 'label_1'. It is taken as absent."):
        assert_same_model(
            client,
            params,
            ((rows(X, chunks), rows(labels, chunks), rows(weight, chunks)), {}),
            ((X, labels, weight), {}),
            X,
        )


def test_columns_of_an_eval_set_are_found_by_name(client: Any) -> None:
    features, new_features = (
        pd.DataFrame(part, columns=list("abcd")).astype(np.float32) for part in (X, X_NEW)
    )
    labels, new_labels = (pd.DataFrame(part, columns=list("rst")) for part in (Y, Y_NEW))
    here = (features, labels), {"eval_set": [(new_features, new_labels[list("tsr")])]}
    there = (
        tuple(dd.from_pandas(part, npartitions=3) for part in here[0]),
        {
            "eval_set": [
                tuple(dd.from_pandas(part, npartitions=2) for part in here[1]["eval_set"][0])
            ]
        },
    )
    assert_same_model(client, {}, there, here, features)


def test_labels_without_names_match_any(client: Any) -> None:
    named = pd.DataFrame(Y_NEW, columns=list("rst"))
    chunks = (100, 60)
    there = {"eval_set": [(rows(X_NEW, (50,)), dd.from_pandas(named, npartitions=1))]}
    assert_same_model(
        client,
        {},
        ((rows(X, chunks), rows(Y, chunks)), there),
        ((X, Y), {"eval_set": [(X_NEW, named)]}),
        X,
    )


def test_categories(client: Any) -> None:
    """Chunks whose types differ: categories in another order, and further categories."""
    frame = pd.DataFrame(X, columns=list("abcd"))
    colours = RNG.choice(["red", "blue", "green", None], N_SAMPLES)
    colours[:90][colours[:90] == "green"] = "white"
    parts = []
    for rows_, types in (
        (slice(0, 90), ["white", "blue", "red", "unused"]),
        (slice(90, None), None),
    ):
        part = frame[rows_].copy()
        part["b"] = pd.Categorical(colours[rows_], categories=types)
        parts.append(part)
    whole = pd.concat(parts)
    whole["b"] = union_categoricals([part["b"] for part in parts])
    meta = whole[:0]
    chunks = dd.from_delayed([dask.delayed(part) for part in parts], meta=meta, verify_meta=False)
    labels = pd.DataFrame(Y, columns=list("rst"))
    labels["r"] = (colours == "blue").astype(float)
    there = dd.from_delayed([dask.delayed(labels[:90]), dask.delayed(labels[90:])])
    model = assert_same_model(client, {}, ((chunks, there), {}), ((whole, labels), {}), whole)
    assert model.categories_[1].tolist() == ["white", "blue", "red", "green"]
    assert (model.predict(whole)[:, 0] == labels["r"]).mean() > 0.95
    again = dd.from_pandas(whole, npartitions=2)
    np.testing.assert_array_equal(model.predict(again).compute(), model.predict(whole))


@pytest.mark.parametrize("n_rare", [0, 10])
def test_codes_of_unknown_categories(client: Any, n_rare: int) -> None:
    """Workers with other categories agree on the codes, of few rows in all or of all rows."""
    towns = np.array([f"town {i}" for i in range(4)])[RNG.integers(0, 4, N_SAMPLES)].astype(object)
    towns[: 3 * n_rare] = [f"village {i}" for i in range(n_rare)] * 3
    towns[-9:] = None
    whole = pd.DataFrame(X, columns=list("abcd")).assign(b=pd.Categorical(towns))
    labels = pd.DataFrame(Y, columns=list("rst")).assign(r=(towns == "town 2").astype(float))
    labels.loc[::7, "s"] = np.nan
    there = [dd.from_pandas(part, npartitions=3) for part in (whole, labels)]
    weight = RNG.integers(0, 3, N_SAMPLES).astype(float)
    weight[: 3 * n_rare] = 1
    weights = dd.from_pandas(pd.Series(weight), npartitions=3)
    model = assert_same_model(
        client,
        {},
        (there, {"sample_weight": weights}),
        ((whole, labels), {"sample_weight": weight}),
        whole,
    )
    local = chain.DynamicChainClassifier(**model.get_params()).fit(whole, labels, weight)
    assert model.unknown_codes_ == local.unknown_codes_
    assert model.category_codes_[1].tolist() == local.category_codes_[1].tolist()
    assert (model._input_form.rare is not None) == (n_rare > 0)


@pytest.mark.parametrize("kind", ["dense", "csr", "categories"])
def test_auto_chooses_as_the_local_estimator(client: Any, kind: str) -> None:
    """Many unrelated labels, so that each tree is for some of them."""
    random = np.random.default_rng(1)
    features: Any = random.integers(0, 9, size=(900, 6)).astype(np.float32)
    labels = features[:, np.arange(20) % 6] + random.normal(scale=2, size=(900, 20)) > 5
    known = np.where(random.random(labels.shape) < 0.1, np.nan, labels)
    known[:, 3] = np.nan
    known[0, 3] = 0.0
    weight = random.uniform(0.2, 3, 900)
    lengths = (100, 500, 300)
    there: Any = rows(features, lengths)
    if kind == "csr":
        features = csr(features)
        there = rows(features, lengths)
    elif kind == "categories":
        features = pd.DataFrame(features, columns=list("abcdef"))
        features["b"] = pd.Categorical(features["b"])
        there = dd.from_delayed(
            [dask.delayed(features[a:b]) for a, b in pairwise([0, *np.cumsum(lengths)])],
            meta=features[:0],
        )
    params = {
        "sketch_size": "auto",
        "split_method": "sumGain",
        "propagate": "in_sample",
        "chain_length": 2,
    }
    model = assert_same_model(
        client,
        params,
        ((there, rows(known, lengths)), {"sample_weight": rows(weight, lengths)}),
        ((features, known), {"sample_weight": weight}),
        features,
    )
    config = json.loads(model.boosters_[0][0].save_config())["learner"]["gradient_booster"]
    chosen = config["updater"][-1]["multilabel_train_param"]
    assert chosen["sketch_size"] == "1"
    assert 2 <= int(chosen["labels_per_tree"]) <= 10
    estimator = DaskDynamicChainClassifier(sketch_size="auto", split_method="maxGain")
    estimator.client = client
    with pytest.raises(ValueError, match="sketch_size='auto' with split_method='maxGain'"):
        estimator.fit(rows(X, (N_SAMPLES,)), rows(Y, (N_SAMPLES,)))


@pytest.mark.parametrize("n_drawn", [0, 7, 30, 99])
def test_rows_are_drawn_from_all_parts(n_drawn: int) -> None:
    lengths = [3, 0, 10, 17]
    parts = [np.arange(30)[end - n : end] for n, end in zip(lengths, [3, 3, 13, 30], strict=True)]
    positions = draw_positions(lengths, n_drawn, seed=4)
    drawn = np.concatenate([part[at] for part, at in zip(parts, positions, strict=True)])
    assert len(drawn) == min(30, n_drawn)
    assert (np.diff(drawn) > 0).all()
    again = draw_positions([30], n_drawn, seed=4)
    np.testing.assert_array_equal(drawn, again[0])


@pytest.mark.parametrize("kind", ["dense", "csr", "frame"])
def test_taken_rows(kind: str) -> None:
    features: Any = {"dense": X, "csr": csr(X), "frame": pd.DataFrame(X)}[kind]
    taken = FitData(features, Y, WEIGHT).take(np.array([3, 8]))
    values = taken.X.toarray() if kind == "csr" else np.asarray(taken.X)
    expected = np.nan_to_num(X[[3, 8]]) if kind == "csr" else X[[3, 8]]
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(taken.Y, Y[[3, 8]])
    np.testing.assert_array_equal(taken.sample_weight, WEIGHT[[3, 8]])
    assert FitData(features, Y, None).take(np.array([1])).sample_weight is None


@pytest.mark.parametrize("is_number", [False, True])
def test_categories_of_types_that_differ(client: Any, is_number: bool) -> None:
    parts = [pd.DataFrame({"a": pd.Categorical(values)}) for values in (["red", "blue"], [1, 2])]
    if is_number:
        parts[1] = pd.DataFrame({"a": [1.0, 2.0]})
    chunks = dd.from_delayed(
        [dask.delayed(part) for part in parts], meta=parts[0], verify_meta=False
    )
    message = r"categories of the types (object|str), int64"
    if is_number:
        message = (
            r"chunk 0 has the categorical columns \(0,\), chunk 1 has the categorical columns \(\)"
        )
    estimator = DaskDynamicChainClassifier(n_estimators=1)
    estimator.client = client
    with pytest.raises(ValueError, match=f"The chunks differ: .*{message}"):
        estimator.fit(chunks, da.from_array(Y[:4], chunks=(2, -1)))


@pytest.mark.parametrize("seed", [None, 0, 3])
def test_folds_are_those_of_all_rows(seed: int | None) -> None:
    absent = np.array([False, True, False])
    parts = np.split(UNKNOWN, [0, 30, 31, 120])
    bits = [positive_bits(part, absent) for part in parts]
    dealt = deal_folds(bits, N_LABELS, 3, seed)
    assert [len(part) for part in dealt] == [0, 30, 1, 89, 40]
    expected = stratified_folds(np.where(absent, 0, UNKNOWN), 3, seed)
    np.testing.assert_array_equal(np.concatenate(dealt), expected)
