"""Contracts that every file in `experiments/methods` and `experiments/datasets` keeps."""

import json
from dataclasses import replace

import numpy as np
import pytest

from experiments import ROOT
from experiments.datasets.published import N_LABELS
from experiments.engine import registry
from experiments.engine.configuration import Entry
from experiments.engine.evaluation import Evaluation
from experiments.engine.measures import MEASURES
from experiments.engine.plan import draws
from experiments.engine.registry import Split, dataset, datasets, method, methods
from experiments.engine.task import Task, execute
from xdcc.data import MultiLabelDataset
from xdcc.data.registry import DATASETS

MAX_LINES = 40

SMALL = {"n_estimators": 5, "chain_length": 2, "n_rules": 10, "iterations": 10, "max_components": 2}
"""Values of parameters that would take long, for the methods that have them."""


def small_params(name):
    entry = Entry(method=name)
    params = draws(entry, {}, 1, seed=0)[0]
    return params | {key: value for key, value in SMALL.items() if key in params}


@pytest.fixture(params=sorted(methods()))
def name(request):
    missing = method(request.param).missing()
    if missing:
        pytest.skip(f"{request.param} needs {', '.join(missing)}")
    return request.param


def test_file_is_short(name):
    module = ROOT / "experiments" / "methods" / f"{name}.py"
    if module.is_file():  # else it stands in one with others
        assert len(module.read_text().splitlines()) <= MAX_LINES


def test_is_documented(name):
    assert method(name).title
    assert method(name).reference
    assert method(name).name == name


def test_parameters_are_json_and_grid_is_product(name):
    found = method(name)
    assert json.loads(json.dumps(dict(found.grid))) == dict(found.grid)
    assert not found.params.keys() & found.grid.keys()
    for values in found.grid.values():
        assert len(values) > 0
    for score in found.scores:
        measure, at, reading = score.partition("@")
        assert measure in MEASURES
        assert not at or reading in found.readings


def test_trains_and_predicts(name):
    task = Task("digits-tiny", Evaluation("k_fold", folds=2), 0, None, name, small_params(name), 0)
    record, arrays = execute(task)
    assert record["error"] is None, record["error"]["traceback"]
    assert set(record["result"]["readings"]) == set(method(name).readings)
    for reading in method(name).readings:
        assert arrays[reading].shape == arrays["Y"].shape
        assert set(np.unique(arrays[reading])) <= {0, 1}
        assert 0 <= record["result"]["readings"][reading]["example_f1"] <= 1
    assert set(record["result"]["scores"]) == set(method(name).scores)
    again, _ = execute(task)
    assert json.dumps(again["result"], default=float) == json.dumps(
        record["result"], default=float
    ), "the same task gives another result"


def test_readings_do_not_depend_on_each_other(name):
    train, test = Evaluation("k_fold", folds=2).parts(dataset("digits-tiny"), 0)
    found = method(name)
    model = found.build(train, 0, **small_params(name))
    if found.fit is None:
        model.fit(train.X, train.Y)
    else:
        found.fit(model, train)
    split = Split(train, test.X)

    def read(readings):
        return {key: np.asarray(list(reading(model, split))) for key, reading in readings}

    first = read(found.readings.items())
    second = read(reversed(found.readings.items()))
    for key, labels in first.items():
        assert (labels == second[key]).all(), key


def test_build_does_not_look_at_labels(name):
    """What `build` gets is for dimensions and feature types: the labels are not to be used."""
    train = dataset("digits-tiny").load("train")
    hidden = np.zeros_like(train.Y)
    models = [
        method(name).build(data, 0, **small_params(name))
        for data in (train, _with_labels(train, hidden))
    ]
    assert repr(models[0]) == repr(models[1])


def _with_labels(data, Y):
    return replace(data, Y=Y)


def _with_data_mark(name):
    files = name.removesuffix(f"-top{N_LABELS}").removesuffix("-whole-file")
    return pytest.param(name, marks=pytest.mark.data(files) if files in DATASETS else ())


@pytest.mark.parametrize("name", [_with_data_mark(name) for name in sorted(datasets())])
def test_data_set_loads(name):
    found = dataset(name)
    assert found.reference
    data = found.load(None)
    assert isinstance(data, MultiLabelDataset)
    if found.has_split:
        assert len(found.load("train")) + len(found.load("test")) == len(data)


def test_unknown_names():
    with pytest.raises(
        registry.UnknownNameError, match=r"Unknown method 'xdc'\. Did you mean xdcc"
    ):
        method("xdc")
    with pytest.raises(registry.UnknownNameError, match=r"Unknown data set 'yeats'\. Did"):
        dataset("yeats")


def test_method_that_is_not_installed():
    peer = registry.Method("x", "y", build=Split, requires=("numpy", "no_such_module_x"))
    assert peer.missing() == ["no_such_module_x"]
