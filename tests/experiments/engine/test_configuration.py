"""Configurations: what is allowed, and what an error says."""

import pytest
import yaml

from experiments import STUDIES
from experiments.engine.configuration import (
    configuration_files,
    find_configuration,
    load_configuration,
)
from experiments.engine.registry import UnknownNameError
from experiments.engine.yaml_file import ConfigurationError


@pytest.mark.parametrize("name", configuration_files())
def test_every_configuration_is_valid(name):
    config = load_configuration(find_configuration(name))
    assert config.name == name
    assert config.report


def test_defaults_and_values(write_config):
    config = load_configuration(write_config(seeds=[3, 4]))
    assert config.name == "small"
    assert config.seeds == [3, 4]
    assert config.evaluation.evaluation().n_parts == 2
    assert config.methods["BR"].chosen_from() == {"n_estimators": [5], "max_depth": [2, 3]}
    assert config.methods["BR"].rule_names() == ["labels"]
    assert config.methods["XDCC standard"].fixed()["chain_length"] == 2


def _method(**keys):
    return {"BR": {"method": "br"} | keys}


SHARES = {"kind": "shares", "title": "", "measures": ["jaccard"], "columns": ["x"],
          "cells": {"x": ["BR"]}}  # fmt: skip


@pytest.mark.parametrize(
    ("keys", "place", "what"),
    [
        ({"datasets": ["emotion"]}, "datasets.0", "Did you mean emotions or"),
        ({"datasets": ["zzz"]}, "datasets.0", "Choose from abortion-later"),
        ({"datasets": []}, "datasets", "at least 1 item"),
        ({"measures": ["x"]}, "measures", "no such key. Choose from about, datasets"),
        ({"dataset": ["flags"]}, "dataset", "no such key. Did you mean datasets"),
        ({"title": None}, "title", "Field required"),
        ({"title": 3}, "title", "valid string"),
        ({"seeds": ["0"]}, "seeds.0", "valid integer"),
        ({"evaluation": {"type": "kfold"}}, "evaluation.type", "'k_fold', 'repeated' or 'whole'"),
        ({"evaluation": {"type": "k_fold", "fold": 3}}, "evaluation.fold", "mean folds"),
        ({"evaluation": {"type": "k_fold", "folds": 1}}, "evaluation.folds", "than or equal to 2"),
        (
            {"evaluation": {"type": "train_test", "folds": 3}},
            "evaluation",
            "folds cannot be used with type train_test; allowed are seed, type",
        ),
        (
            {"evaluation": {"type": "k_fold", "assignment": "blocks", "repeats": 2}},
            "evaluation",
            "repeats must be 1",
        ),
        (
            {"tuning": {"measure": "f1", "draws": 2, "split": 0.5}},
            "tuning.measure",
            "unknown metric 'f1'. Did you mean example_f1 or",
        ),
        ({"tuning": {"measure": "example_f1", "draws": 2}}, "tuning", "one of split and folds"),
        (
            {"tuning": {"measure": "example_f1", "draws": 2, "split": 0.45}},
            "tuning",
            "split is 0.45; allowed are 1/2, 1/3, 1/4 and so on",
        ),
        ({"tuning": {"measure": "example_f1", "draws": 0, "split": 0.5}}, "tuning.draws", "from 1"),
        ({"methods": {"BR": {"method": "xdc"}}}, "methods.BR.method", "Did you mean xdcc"),
        ({"methods": _method(rules=["label"])}, "methods.BR", "has no rule 'label'"),
        ({"methods": _method(grids={})}, "methods.BR.grids", "Did you mean grid?"),
        ({"methods": _method(grid={"max_depth": []})}, "methods.BR.grid.max_depth", "at least 1"),
        (
            {"methods": _method(grid={"max_depth": [1]}, params={"max_depth": 1})},
            "methods.BR",
            "max_depth is in params and in grid",
        ),
        (
            {"methods": {"RDT": {"method": "rdt", "params": {"n_estimator": 1}}}},
            "methods.RDT",
            "rdt does not accept these parameters: ",
        ),
        (
            {"methods": _method(params_of="BR"), "report": []},
            "the file",
            "methods.BR.params_of needs a tuned line",
        ),
        (
            {"methods": _method(params_of="CC"), "report": []},
            "the file",
            "methods.BR.params_of names 'CC', which is not a key of methods",
        ),
        (
            {"methods": _method(params_of="CC", grid={"max_depth": [1]}), "report": []},
            "methods.BR",
            "params_of cannot be combined with a grid",
        ),
        ({"published": "xdcc"}, "published", "no published numbers 'xdcc'. Did you mean xdcc-2020"),
        (
            {"report": [{"kind": "scores", "title": "", "measures": ["jaccard"], "lines": ["B"]}]},
            "the file",
            "report.0.lines names 'B', which is not a key of methods.",
        ),
        (
            {"report": [{"kind": "figure", "title": "", "measures": ["jaccard"]}]},
            "report.0",
            "needs draw",
        ),
        (
            {"report": [{"kind": "shares", "title": "", "measures": ["jaccard"]}]},
            "report.0",
            "a section of the kind shares, and no other, needs cells",
        ),
        (
            {"report": [SHARES | {"columns": ["one", "two"]}]},
            "report.0",
            "each row of cells needs 2 lines, one per column",
        ),
        (
            {"report": [SHARES | {"cells": {"x": ["BRR"]}}]},
            "the file",
            "report.0.cells names 'BRR', which is not a key of methods. Did you mean BR?",
        ),
        (
            {"report": [{"kind": "bbc_cv", "title": "", "measures": ["jaccard"]}]},
            "report.0",
            "bbc_cv allows only the metrics subset_loss and hamming_loss",
        ),
        (
            {"report": [{"kind": "bbc_cv", "title": "", "measures": ["subset_loss"]}]},
            "the file",
            "report.0 needs row_losses and lines with tuned_for, without tuning",
        ),
    ],
)
def test_error_names_file_key_and_what_is_allowed(write_config, keys, place, what):
    file = write_config(**keys)
    with pytest.raises(ConfigurationError) as raised:
        load_configuration(file)
    faults = str(raised.value).splitlines()
    assert any(fault.startswith(f"{file}: {place}: ") and what in fault for fault in faults), faults


def test_all_faults_are_listed(write_config):
    file = write_config(datasets=["emotion", "flags", "yeas"], titel="x")
    with pytest.raises(ConfigurationError) as raised:
        load_configuration(file)
    assert len(str(raised.value).splitlines()) == 3


@pytest.mark.parametrize("text", ["a: [", "- a", ""])
def test_not_a_mapping(tmp_path, text):
    file = tmp_path / "x.yaml"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=r"x\.yaml"):
        load_configuration(file)


def test_find(tmp_path):
    assert find_configuration("tiny-quick") == STUDIES / "tiny" / "quick.yaml"
    with pytest.raises(UnknownNameError, match=r"Unknown configuration .*Did you mean tiny"):
        find_configuration("tny-quick")
    with pytest.raises(UnknownNameError, match="does not exist"):
        find_configuration(str(tmp_path / "x.yaml"))


def test_extends(write_config, tmp_path):
    base = write_config("base")
    file = tmp_path / "derived.yaml"
    file.write_text(f"extends: {base}\nseeds: [7]\n")
    derived, original = load_configuration(file), load_configuration(base)
    assert derived.seeds == [7]
    assert derived.name == "derived"
    assert derived.methods == original.methods
    again = tmp_path / "again.yaml"
    again.write_text(f"extends: {file}\ntitle: of a derived one\n")
    assert load_configuration(again).seeds == [7]
    assert load_configuration(again).study == "again"
    file.write_text("extends: tinny\n")
    with pytest.raises(ConfigurationError, match=r"derived\.yaml: extends: Unknown config.* tiny"):
        load_configuration(file)


def test_another_evaluation_for_a_data_set(write_config):
    evaluation = {"type": "train_test"}
    exception = {"datasets": ["digits"], "evaluation": evaluation, "reason": "large"}
    config = load_configuration(
        write_config(datasets=["digits", "digits-tiny"], exceptions=[exception])
    )
    assert config.evaluation_of("digits").type == "train_test"
    assert config.evaluation_of("digits-tiny").type == "k_fold"
    with pytest.raises(ConfigurationError, match="applies to all methods: leave methods out"):
        load_configuration(write_config(exceptions=[exception | {"methods": ["BR"]}]))


def test_exceptions_of_a_data_set(write_config):
    exception = {"datasets": ["digits-tiny"], "methods": ["BR"], "draws": 1, "reason": "slow"}
    config = load_configuration(write_config(exceptions=[exception]))
    assert [e.draws for e in config.exceptions_for("digits-tiny", "BR")] == [1]
    assert not config.exceptions_for("digits-tiny", "ML-XGB")
    assert not config.exceptions_for("digits", "BR")


def test_names_of_files_are_those_of_yaml(write_config):
    content = yaml.safe_load(write_config().read_text())
    assert "name" not in content
