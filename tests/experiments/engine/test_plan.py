"""Draws of parameters, the tasks of a configuration, and the choice from records."""

import itertools

import numpy as np
import pytest

from experiments.engine.configuration import Entry, load_configuration
from experiments.engine.plan import draws, groups, measured, records_of_studies
from experiments.engine.records import RecordStore, failure_of, make_record

GRID = {"n_estimators": [1, 2, 3], "max_depth": [4, 5], "learning_rate": [0.1, 0.2]}


def test_draws_are_different_and_repeatable():
    entry = Entry(method="br", grid=GRID, params={"reg_lambda": 2.0})
    drawn = draws(entry, {}, 7, seed=3)
    assert len({tuple(sorted(params.items())) for params in drawn}) == 7
    assert drawn == draws(entry, {}, 7, seed=3) != draws(entry, {}, 7, seed=4)
    assert all(params["reg_lambda"] == 2.0 for params in drawn)
    assert all(params[name] in values for params in drawn for name, values in GRID.items())
    # a larger budget begins with the same draws: what was computed is of use
    assert draws(entry, {}, 9, seed=3)[:7] == drawn


@pytest.mark.parametrize("number", [None, 12, 100])
def test_all_combinations(number):
    drawn = draws(Entry(method="br", grid=GRID), {}, number, seed=0)
    assert [tuple(params.values()) for params in drawn] == list(itertools.product(*GRID.values()))


def test_extra_params_take_names_out_of_the_grid():
    drawn = draws(Entry(method="br", grid=GRID), {"max_depth": 9}, None, seed=0)
    assert len(drawn) == 6
    assert {params["max_depth"] for params in drawn} == {9}


def test_own_grid_and_params_of_the_method():
    entry = Entry(method="xdcc", params={"max_depth": 3, "candidates": "open"})
    assert "max_depth" not in entry.chosen_from()
    assert entry.fixed()["candidates"] == "open"
    assert entry.fixed()["propagate"] == "in_sample"


@pytest.fixture
def small(write_config):
    return load_configuration(write_config())


def test_groups(small):
    found = list(groups(small))
    assert [(g.line, g.finals[0].fold) for g in found] == [
        (line, fold) for fold in (0, 1) for line in small.methods
    ]
    assert all(len(group.finals) == len(group.trials) == 2 for group in found)
    assert all(task.inner is not None for group in found for task in group.tuning_tasks())
    xdcc = {g.line: g for g in found if g.finals[0].fold == 0}
    cumulated, standard = xdcc["XDCC cumulated"], xdcc["XDCC standard"]
    assert [t.name for t in cumulated.finals] == [t.name for t in standard.finals], "shared models"


def test_names_depend_on_everything_that_matters(write_config):
    def names(**keys):
        config = load_configuration(write_config(**keys))
        return {task.name for group in groups(config) for task in group.finals}

    same = names()
    assert names(title="other", report=[]) == same
    assert not names(seeds=[1]) & same
    assert not names(evaluation={"type": "k_fold", "folds": 3}) & same
    # the tuning changes what is tried, not what is trained finally
    tuning = {"measure": "jaccard", "draws": 2, "split": 0.5}
    assert names(tuning=tuning) == same


def test_exceptions(write_config):
    exceptions = [
        {"datasets": ["digits-tiny"], "methods": ["BR"], "draws": 1, "reason": "x"},
        {"datasets": ["digits-tiny"], "methods": ["ML-XGB"], "skip": True, "reason": "x"},
        {"datasets": ["digits-tiny"], "methods": ["XDCC cumulated"], "reason": "x",
         "params": {"n_estimators": 3}},
    ]  # fmt: skip
    found = {g.line: g for g in groups(load_configuration(write_config(exceptions=exceptions)))}
    assert len(found["BR"].finals) == 1
    assert "ML-XGB" not in found
    assert {t.params["n_estimators"] for t in found["XDCC cumulated"].finals} == {3}


def record(task, rules=None):
    result = None if rules is None else {"readings": rules, "scores": {}}
    error = failure_of("ValueError", "no") if rules is None else None
    return make_record(task.key(), result, error, {})


def test_choice(small, tmp_path):
    store = RecordStore(tmp_path)
    group = next(g for g in groups(small) if g.line == "ML-XGB")
    assert group.rules == ["labels", "threshold 0.3"]
    assert group.choices(store) is None, "nothing is known yet"
    first, second = group.tuning_tasks()
    store.write(
        first.name,
        record(first, {"labels": {"example_f1": 0.5}, "threshold 0.3": {"example_f1": 0.7}}),
    )
    assert group.choices(store) is None, "one is missing"
    store.write(
        second.name,
        record(second, {"labels": {"example_f1": 0.7}, "threshold 0.3": {"example_f1": 0.6}}),
    )
    (choice,) = group.choices(store)
    assert choice.task.name == group.finals[0].name, "the first of equally good ones"
    assert choice.rule == "threshold 0.3"
    assert choice.score == 0.7
    store.write(first.name, record(first))
    (choice,) = group.choices(store)
    assert (choice.task.name, choice.rule) == (group.finals[1].name, "labels")
    store.write(second.name, record(second))
    assert group.choices(store) == [], "every trial failed"


def test_choice_of_a_loss_is_the_lowest(write_config, tmp_path):
    tuning = {"measure": "hamming_loss", "draws": 2, "split": 0.5}
    config = load_configuration(write_config(tuning=tuning))
    group = next(g for g in groups(config) if g.line == "BR")
    store = RecordStore(tmp_path)
    for task, value in zip(group.tuning_tasks(), (0.4, 0.3), strict=True):
        store.write(task.name, record(task, {"labels": {"hamming_loss": value}}))
    assert group.choices(store)[0].task.name == group.finals[1].name


def test_line_with_a_measure_of_its_own(write_config):
    methods = {"BR": {"method": "br", "tuned_for": "hamming_loss"}}
    config = load_configuration(write_config(methods=methods, report=[]))
    assert {group.measure for group in groups(config)} == {"hamming_loss"}


def test_choice_by_the_mean_over_inner_folds(write_config, tmp_path):
    tuning = {"measure": "example_f1", "draws": 2, "folds": 3}
    config = load_configuration(write_config(tuning=tuning))
    group = next(g for g in groups(config) if g.line == "BR")
    store = RecordStore(tmp_path)
    values = iter([0.1, 0.2, 0.9, 0.5, 0.5, 0.5])
    for task in group.tuning_tasks():
        store.write(task.name, record(task, {"labels": {"example_f1": next(values)}}))
    (choice,) = group.choices(store)
    assert choice.task.name == group.finals[1].name
    assert choice.score == pytest.approx(0.5)


def test_without_tuning_everything_is_final(write_config, tmp_path):
    config = load_configuration(write_config(tuning=None))
    group = next(g for g in groups(config) if g.line == "ML-XGB")
    assert group.tuning_tasks() == []
    choices = group.choices(RecordStore(tmp_path))
    assert len(choices) == 4
    assert np.isnan([choice.score for choice in choices]).all()


def test_parameters_of_another_line(write_config, tmp_path):
    methods = {
        "like CC": {"method": "xdcc", "params": {"chain_length": 2}, "params_of": "CC"},
        "CC": {"method": "cc", "grid": {"n_estimators": [5], "max_depth": [2, 3]}},
    }
    config = load_configuration(write_config(methods=methods, report=[]))
    like_cc, cc = list(groups(config))[:2]
    assert (like_cc.line, cc.line) == ("like CC", "CC")
    store = RecordStore(tmp_path)
    assert [t.name for t in like_cc.tuning_tasks()] == [t.name for t in cc.tuning_tasks()]
    assert like_cc.choices(store) is None
    for task, value in zip(cc.tuning_tasks(), (0.4, 0.5), strict=True):
        store.write(task.name, record(task, {"labels": {"example_f1": value}}))
    (choice,) = like_cc.choices(store)
    assert choice.rule == "cumulated"
    assert choice.task.method == "xdcc"
    assert choice.task.params == like_cc.finals[0].params | {"n_estimators": 5, "max_depth": 3}
    assert choice.task.params["chain_length"] == 2
    assert "order" not in choice.task.params, "only what is tuned is taken over"


def test_nothing_to_choose_needs_no_trial(write_config, tmp_path):
    methods = {"BR": {"method": "br", "grid": {"n_estimators": [5]}}}
    config = load_configuration(write_config(methods=methods, report=[]))
    group = next(groups(config))
    assert group.tuning_tasks() == []
    assert len(group.choices(RecordStore(tmp_path))) == 1


def test_records_of_studies(write_config, tmp_path):
    """Everything that a configuration may ask for, whichever parameters are chosen."""
    methods = {
        "CC": {"method": "cc", "grid": {"n_estimators": [2], "max_depth": [2, 3]}},
        "like CC": {"method": "xdcc", "params": {"chain_length": 2}, "params_of": "CC"},
    }
    full = load_configuration(write_config("a-full", methods=methods, report=[]))
    other = load_configuration(write_config("a-figures-quick", seeds=[7], report=[]))
    alone = load_configuration(write_config("b", report=[]))
    asked = records_of_studies([full, other, alone])
    assert asked.keys() == {"a", "b"}
    assert asked["a"] == set.union(*records_of_studies([full]).values()) | set.union(
        *records_of_studies([other]).values()
    )
    found = records_of_studies([full])["a"]
    per_fold = 2 + 2 + 2  # trials and final models of CC, models that follow either of them
    assert len(found) == 2 * per_fold
    store = RecordStore(tmp_path / "records")
    for best in (0, 1):
        for group in groups(full):
            for k, task in enumerate(group.tuning_tasks()):
                store.write(task.name, record(task, {"labels": {"example_f1": float(k == best)}}))
        for group in groups(full):
            (choice,) = group.choices(store)
            assert choice.task.params["max_depth"] == (2, 3)[best]
            assert choice.task.name in found


def test_what_is_measured_is_a_measure_or_a_time():
    result = {"readings": {"labels": {"example_f1": 0.5}}, "scores": {"log_loss": 0.3}}
    record = {"result": result, "run": {"train_time": 2.5}}
    found = [measured(record, "labels", name) for name in ("example_f1", "log_loss", "train_time")]
    assert found == [0.5, 0.3, 2.5]
    assert np.isnan(measured(record, "labels", "macro_f1"))
    assert np.isnan(measured(record | {"result": None}, "labels", "example_f1"))
