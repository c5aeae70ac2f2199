"""The chain driver, run from the command line."""

import json

import numpy as np
import pandas as pd
import pytest

from xdcc import metrics

FAST = ("-d", 3, "-r", 3)

ARFF = """@relation toys
@attribute colour {red,green,blue}
@attribute size numeric
@attribute soft {0,1}
@attribute round {0,1}
@data
"""


@pytest.fixture
def toys(tmp_path):
    """A data set in files: train and test, no XML."""
    rng = np.random.default_rng(0)
    for part, n in [("train", 60), ("test", 30)]:
        colour, size = rng.choice(["red", "green", "blue"], n), rng.normal(size=n)
        soft, round_ = (colour == "red").astype(int), (size > 0).astype(int)
        rows = zip(colour, size.round(3), soft, round_, strict=True)
        text = ARFF + "\n".join(",".join(map(str, row)) for row in rows) + "\n"
        (tmp_path / f"toys-{part}.arff").write_text(text)
    return tmp_path


def record(folder, model):
    return json.loads((folder / f"{model}.json").read_text())


@pytest.mark.parametrize(
    ("options", "data", "least"),
    [
        (("-v", 75, "-r", 5), "digits: 300 training rows, 898 evaluation rows", 0.4),
        pytest.param(
            (), "digits: 1198 training rows, 599 evaluation rows", 0.7, marks=pytest.mark.slow
        ),
    ],
)
def test_the_usual_models_run_on_the_embedded_data(options, data, least, run_script, tmp_path):
    done = run_script("run_chain.py", *options, apart=True)
    assert done.returncode == 0, done.stderr
    assert data in done.stdout
    n_rows = int(data.split()[4])
    for row in ("auto", "dcc cumulated", "dcc standard", "sxgb", "br", "cc-rand"):
        assert row in done.stdout
    said = done.stdout.splitlines()
    assert len(said) <= 30
    heading, *rows = said[1:8]
    assert heading.startswith("best example_f1 first")
    column = heading.removeprefix("best example_f1 first").split().index("example_f1")
    scores = [float(row.split()[column - 7]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert rows[0].startswith("auto ")
    assert "sxgb: a single multi-label booster (ML-XGB)" in said
    assert "results/digits/rounds.png" in done.stdout
    assert said[-2].startswith("Next: ")
    assert "dcc: " in done.stderr  # progress
    assert "step 7 of 7" in done.stderr
    folder = tmp_path / "results" / "digits"
    written = {file.name for file in folder.iterdir()}
    assert written == {
        *(f"{model}.json" for model in ("auto", "dcc", "sxgb", "br", "cc-rand")),
        "predictions.npz",
        "rounds.png",
    }
    dcc = record(folder, "dcc")
    assert len(dcc["rounds"]["dcc cumulated"]) == 7
    assert dcc["rounds"]["dcc standard"][-1] == dcc["measures"]["dcc standard"]
    assert least < dcc["measures"]["dcc cumulated"]["subset_accuracy"] < 1
    assert dcc["parameters"]["split_method"] == "maxGain"
    assert dcc["seed"] == 0
    assert dcc["seconds"]["fit"] > 0
    assert {"xdcc", "xgboost", "numpy", "plugin"} <= dcc["versions"].keys()
    with np.load(folder / "predictions.npz") as arrays:
        assert arrays["Y"].shape == arrays["dcc/Y_proba_cumulated"].shape == (n_rows, 7)
        assert arrays["dcc/order"].shape == (n_rows, 7)


def test_all_models_and_options(run_script, tmp_path):
    models = "dcc,sxgb,br,cc-rand,cc-freq,cc-rare,cc-dcc"
    args = ("-m", models, "-c", 2, "-s", 3, "-p", "{'eta': 0.5, 'reg_lambda': 2}", "--seed", 7)
    done = run_script("run_chain.py", *FAST, *args, "-v", 20, "--no-output_extra", "--out", "here")
    assert done.returncode == 0, done.stderr
    assert "959 training rows, 239 evaluation rows" in done.stdout
    folder = tmp_path / "here"
    assert not (folder / "predictions.npz").exists()
    for model in models.split(","):
        parameters = record(folder, model)["parameters"]
        assert parameters["learning_rate"] == 0.5
        assert parameters["reg_lambda"] == 2
        assert parameters["max_depth"] == 3
        assert parameters["n_estimators"] == 3
        assert parameters["random_state"] == 7
    assert record(folder, "sxgb")["parameters"]["split_method"] == "sumGain"
    assert record(folder, "dcc")["parameters"]["chain_length"] == 2
    assert record(folder, "dcc")["data"]["evaluated_on"] == "validation rows"


def test_decided_for_a_measure(run_script, tmp_path):
    models = "auto,ml-xgb-tuned,sxgb,dcc-oof"
    # A sixth of the training rows, because choosing among models is expensive.
    args = ("-m", models, "-v", 85, "--measure", "subset_accuracy", "--out", "here")
    done = run_script("run_chain.py", *FAST, *args)
    assert done.returncode == 0, done.stderr
    auto, tuned, plain = (
        record(tmp_path / "here", model) for model in ("auto", "ml-xgb-tuned", "sxgb")
    )
    assert auto["parameters"]["measure"] == tuned["parameters"]["measure"] == "subset_accuracy"
    assert tuned["parameters"]["estimator__n_estimators"] == 3
    found = [run["measures"][run["model"]]["subset_accuracy"] for run in (auto, tuned, plain)]
    assert found[0] > found[1] >= found[2]
    assert record(tmp_path / "here", "dcc-oof")["parameters"]["propagate"] == "cross_val"
    assert "dcc-oof cumulated" in done.stdout


def test_a_measure_of_probabilities_is_a_column(run_script, toys):
    args = ("-f", "toys", "-l", 2, "--data-dir", toys, "-m", "auto,sxgb,dcc")
    done = run_script("run_chain.py", *FAST, *args, "--measure", "neg_log_loss")
    assert done.returncode == 0, done.stderr
    assert "best neg_log_loss first" in done.stdout
    folder = toys / "results" / "toys"
    arrays = np.load(folder / "predictions.npz")
    for model, row, name in [
        ("auto", "auto", "auto/Y_proba"),
        ("sxgb", "sxgb", "sxgb/Y_proba"),
        ("dcc", "dcc standard", "dcc/Y_proba_standard"),
    ]:
        found = record(folder, model)["measures"][row]["neg_log_loss"]
        assert found == pytest.approx(-metrics.log_loss(arrays["Y"], arrays[name]))
        assert f"{found:.3f}" in done.stdout


@pytest.mark.parametrize(
    ("measure", "prediction"),
    [
        ("subset_accuracy", "subset_accuracy"),
        ("example_f1", "example_f1"),
        ("hamming_accuracy", "marginal"),
        ("jaccard", "mode"),
    ],
)
def test_the_order_free_chain_predicts_for_the_measure(run_script, toys, measure, prediction):
    args = ("-f", "toys", "-l", 2, "--data-dir", toys, "-m", "order-free", "--measure", measure)
    done = run_script("run_chain.py", *args)
    assert done.returncode == 0, done.stderr
    found = record(toys / "results" / "toys", "order-free")
    assert found["parameters"]["prediction"] == prediction
    assert found["measures"]["order-free"]["subset_accuracy"] > 0.7


def test_same_seed_same_measures(run_script, tmp_path):
    for out in ("a", "b"):
        args = ("-m", "dcc,cc-rand", "-p", "{'subsample': 0.7}", "--out", out)
        assert run_script("run_chain.py", *FAST, *args).returncode == 0
    for model in ("dcc", "cc-rand"):
        first, second = (record(tmp_path / out, model)["measures"] for out in ("a", "b"))
        assert first == second


def test_models_without_rounds_alone(run_script, tmp_path):
    done = run_script("run_chain.py", *FAST, "-m", "br", "--out", "here")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "here" / "rounds.png").exists()


@pytest.mark.parametrize(
    ("features", "accuracy"),
    [("colour", 0.9), ("colour,size", 0.7)],  # new sizes have no rank: only one label is learned
)
def test_files_and_transformed_features(run_script, toys, features, accuracy):
    args = ("-f", "toys", "-l", 2, "--data-dir", toys, "-t", features, "-m", "sxgb,dcc")
    done = run_script("run_chain.py", *args)
    assert done.returncode == 0, done.stderr
    assert "toys: 60 training rows, 30 evaluation rows, 2 features, 2 labels" in done.stdout
    measures = record(toys / "results" / "toys", "sxgb")["measures"]["sxgb"]
    assert measures["hamming_accuracy"] > accuracy


@pytest.fixture
def table(tmp_path):
    """A table of one's own, with text, missing values and an unknown label."""
    rng = np.random.default_rng(0)
    colour, size = rng.choice(["red", "green", "blue"], 90), rng.normal(size=90)
    frame = pd.DataFrame({"colour": colour, "size": size.round(3), "soft": colour == "red"})
    frame["round"] = (size > 0).astype(float)
    frame.loc[3, "size"] = frame.loc[5, "round"] = np.nan
    frame.loc[7, "colour"] = None
    return frame


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_own_data_by_a_path(run_script, tmp_path, table, suffix):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
        table.to_parquet(tmp_path / "mine.parquet")
    else:
        table.to_csv(tmp_path / "mine.csv", index=False)
    args = ("-f", f"mine.{suffix}", "--labels", "soft, round", "-m", "sxgb", "--out", "here")
    done = run_script("run_chain.py", *args)
    assert done.returncode == 0, done.stderr
    assert "mine: 60 training rows, 30 evaluation rows, 2 features, 2 labels" in done.stdout
    measures = record(tmp_path / "here", "sxgb")["measures"]["sxgb"]
    assert measures["hamming_accuracy"] > 0.85
    assert record(tmp_path / "here", "sxgb")["data"]["labels"] == ["soft", "round"]


def test_last_columns_are_the_labels_and_some_are_ignored(run_script, tmp_path, table):
    table.insert(0, "day", pd.date_range("2020-01-01", periods=90).strftime("%Y-%m-%d"))
    table.insert(0, "old", (np.arange(90) % 3 == 0).astype(int))
    table.to_csv(tmp_path / "mine.csv", index=False)
    args = ("-f", "mine.csv", "-m", "sxgb", *FAST)
    done = run_script("run_chain.py", *args, "-l", 2, "--ignore", "day", "-o", "here")
    assert done.returncode == 0, done.stderr
    assert "60 training rows, 30 evaluation rows, 3 features, 2 labels" in done.stdout
    assert "Note: old contain zeros and ones only and are used as features." in done.stderr
    assert record(tmp_path / "here", "sxgb")["data"]["labels"] == ["soft", "round"]
    named = ("--labels", "soft,round", "--ignore", "day,old", "-o")
    done = run_script("run_chain.py", *args, *named)
    assert done.returncode == 0, done.stderr
    assert "Note" not in done.stderr
    first, second = (
        record(folder, "sxgb") for folder in (tmp_path / "here", tmp_path / "results" / "mine")
    )
    assert (first["data"]["features"], second["data"]["features"]) == (3, 2)


def test_own_arff_by_a_path(run_script, toys):
    done = run_script("run_chain.py", "-f", "toys-train.arff", "-l", 2, "-m", "br", *FAST)
    assert done.returncode == 0, done.stderr
    assert "40 training rows, 20 evaluation rows, 2 features, 2 labels" in done.stdout


def test_errors_in_the_users_own_data(run_script, tmp_path, table):
    table.to_csv(tmp_path / "mine.csv", index=False)
    table[["soft"]].to_csv(tmp_path / "labels.csv", index=False)
    (tmp_path / "mine.arff").write_text(ARFF)
    day = pd.date_range("2020-01-01", periods=90).strftime("%d %b %Y")
    table.assign(day=day).to_csv(tmp_path / "dates.csv", index=False)
    text = [f"the customer said {row}" for row in range(90)]
    table.assign(said=text).to_csv(tmp_path / "texts.csv", index=False)
    (tmp_path / "ragged.csv").write_text("a,b\n1,0\n1,0,1\n")
    (tmp_path / "binary.csv").write_bytes(bytes(range(128, 256)))
    (tmp_path / "binary.parquet").write_bytes(bytes(range(256)))
    (tmp_path / "empty.csv").write_text("")
    for args, message in [
        (("-f", "mine.csv"), "mine.csv needs --labels"),
        (("-f", "dates.csv", "--labels", "soft"), "the feature 'day' contains dates. Make numbers"),
        (
            ("-f", "texts.csv", "--labels", "soft"),
            "'said' contains free text: 90 different values in 90 rows. Make numbers of it, or "
            "leave it out: ignore said",
        ),
        (("-f", "mine.csv", "--labels", "soft", "--ignore", "hue"), "mine has no column 'hue'"),
        (("-f", "mine.csv", "-l", 9), "mine.csv has 4 columns, not 9 labels"),
        (("-f", "mine.csv", "-l", 2, "--labels", "soft"), "--labels names 1 labels, not 2"),
        (("-f", "ragged.csv", "-l", 1), "ragged.csv cannot be read: Error tokenizing data"),
        (("-f", "binary.csv", "-l", 1), "binary.csv cannot be read: 'utf-8' codec"),
        (("-f", "empty.csv", "-l", 1), "empty.csv cannot be read: No columns"),
        (("-f", "binary.parquet", "-l", 1), "binary.parquet cannot be read"),
        (("-f", "mine.arff", "--ignore", "size"), "--ignore needs a CSV or Parquet file; for an"),
        (("--ignore", "size"), "--ignore needs a CSV or Parquet file: give its path with -f"),
        (("-f", "mine.csv", "--labels", "soft,hard"), "mine has no column 'hard'; it has 'colour'"),
        (("-f", "mine.csv", "--labels", "soft,size"), "the label 'size' of row 0 is "),
        (("-f", "labels.csv", "--labels", "soft"), "every column of labels is a label"),
        (("-f", "other.parquet", "--labels", "soft"), "other.parquet does not exist"),
        (
            ("-f", "mine.arff", "--labels", "soft"),
            "--labels needs a CSV or Parquet file; for an ARFF file",
        ),
        (("--labels", "soft"), "--labels needs a CSV or Parquet file: give"),
    ]:
        done = run_script("run_chain.py", *args)
        assert done.returncode != 0
        assert message in done.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-m", "dcc,xyz"], "unknown model xyz; choose from auto, dcc"),
        (["-s", "7"], "'7' is not a split method; choose one of 1 (maxGain)"),
        (["--measure", "f1"], "'f1' is not a metric; it must be one of 'hamming_accuracy'"),
        (["--measure", "ndcg_at_9"], "--measure ndcg_at_9 has no value: there are only 7 labels"),
        (["--measure", "ndcg_at_3", "-m", "auto,ml-xgb-tuned"], "Use MultiLabelClassifier"),
        (["-p", "eta=1"], "'eta=1' is not a Python dictionary like {'eta': 0.1}"),
        (["-p", "{'etta': 1}", "-m", "auto,ml-xgb-tuned"], "etta"),
        (["-p", "{'eta': 1, 'learning_rate': 0.5}", "-m", "dcc"], "learning_rate"),
        (["-p", "{'max_depth': 3}"], "--parameters contains max_depth"),
        (["-v", "100"], "'100' is not a whole number from 0 to 99"),
        (["-d", "-1", "-m", "auto,sxgb"], "max_depth"),
        (["-c", "0", "-m", "auto,cc-dcc"], "chain_length"),
        (["-l", "3"], "digits has 7 labels, not 3"),
        (["-t", "mass"], "digits has no features mass to transform"),
        (["-f", "nothing", "-l", "2"], "nothing-train.arff"),
        (["--data-dir", "nowhere", "-f", "emotions"], "nowhere, which is not a folder"),
    ],
)
def test_bad_options_end_with_one_message(run_script, args, message):
    done = run_script("run_chain.py", *args)
    assert done.returncode != 0
    assert message in done.stderr


def test_a_script_ends_with_one_message(run_script):
    done = run_script("run_chain.py", "-m", "auto,dcc", "-c", 0)
    assert done.returncode == 1
    assert "run_chain.py: chain_length=0: it must be" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_data_set_in_one_file_is_split_by_the_seed(run_script, tmp_path, write_benchmark):
    args = ("--data-dir", write_benchmark("cal500"), "-f", "cal500", "-m", "sxgb", "--out", "here")
    done = run_script("run_chain.py", *FAST, *args)
    assert done.returncode == 0, done.stderr
    assert "cal500: 334 training rows, 168 evaluation rows" in done.stdout


def test_rows_of_a_group_stay_together(run_script, tmp_path):
    rng = np.random.default_rng(0)
    day = np.arange(120) % 30
    table = pd.DataFrame({"x": rng.normal(size=30)[day], "day": [f"day {i}" for i in day]})
    for label in ("a", "b"):
        table[label] = rng.integers(0, 2, size=30)[day]
    table.to_csv(tmp_path / "days.csv", index=False)
    args = ("-f", tmp_path / "days.csv", "--labels", "a,b", "-m", "dcc-oof,ml-xgb-tuned,br")
    done = run_script("run_chain.py", *FAST, *args, "--groups", "day", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    found = record(tmp_path / "out", "ml-xgb-tuned")
    assert found["options"]["groups"] == "day"
    assert found["data"]["train_rows"] == 80
    Y = np.load(tmp_path / "out" / "predictions.npz")["Y"]
    assert len(Y) == 40
    assert (Y.sum(axis=0) % 4 == 0).all()  # each day that is held out has all of its four rows
    done = run_script("run_chain.py", *FAST, *args, "--groups", "dy")
    assert done.returncode != 0
    assert "groups='dy': X has no such column. Did you mean 'day'?" in done.stderr
