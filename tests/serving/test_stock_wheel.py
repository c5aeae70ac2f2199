"""Exports in an environment of their own, with the stock XGBoost wheel from the package index."""

import subprocess
import sys
import venv

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from xdcc.chain import DynamicChainClassifier
from xdcc.serving import stock_booster, to_stock

STOCK = "xgboost==3.4.1"

PROGRAM = """
import sys
from pathlib import Path
import numpy as np
import xgboost as xgb
from scipy import sparse

assert xgb.__version__ == "3.4.1"
assert "XDCC_MULTILABEL" not in xgb.build_info()
folder = Path(sys.argv[1])
inputs = {"dense": np.load(folder / "dense.npy"), "sparse": sparse.load_npz(folder / "sparse.npz")}
for directory in sorted(folder.glob("export_*")):
    sys.path.insert(0, str(directory))
    from stock_chain import StockChain
    model = StockChain(directory)
    X = inputs["sparse" if directory.name.endswith("_sparse") else "dense"]
    np.save(directory / "proba.npy", model.predict_proba(X))
    np.save(directory / "labels.npy", model.predict(X))
    del sys.path[0], sys.modules["stock_chain"]
for path in sorted(folder.glob("booster_*.ubj")):
    booster = xgb.Booster(model_file=path)
    np.save(path.with_suffix(".npy"), booster.inplace_predict(inputs["dense"]))
try:
    xgb.Booster(model_file=folder / "plugin.ubj")
except xgb.core.XGBoostError as error:
    assert "multilabel:logistic" in str(error), error
else:
    raise AssertionError("The stock library read a model of the plugin.")
"""


@pytest.fixture(scope="module")
def stock_python(tmp_path_factory):
    """Return the Python of a new environment with the stock wheel."""
    directory = tmp_path_factory.mktemp("stock_wheel")
    venv.create(directory, with_pip=True)
    python = directory / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    # -I: without the PYTHONPATH that may lead to this project and its XGBoost.
    options = ["--quiet", "--retries", "1", "--only-binary", "xgboost"]
    install = [python, "-I", "-m", "pip", "install", *options, STOCK]
    done = subprocess.run(install, capture_output=True, text=True)
    if done.returncode != 0:
        # pip says the same of an index that it cannot reach and of a package that is not there.
        if "No matching distribution" in done.stderr:
            pytest.skip(f"The package index has no {STOCK} or cannot be reached.")
        pytest.fail(f"pip install {STOCK}: {done.stderr}")
    return python


@pytest.mark.slow
def test_the_stock_wheel_predicts_the_same(
    stock_python, fitted_chain, every_chain, classifier, rows, on_sparse, tmp_path
):
    inputs = {"dense": rows.X_new, "sparse": sparse.csr_matrix(np.nan_to_num(rows.X_new))}
    np.save(tmp_path / "dense.npy", inputs["dense"])
    sparse.save_npz(tmp_path / "sparse.npz", inputs["sparse"])
    names = ["age [years]", "a<b", "größe", "", "e"]
    named = pd.DataFrame(rows.X, columns=names)
    models = {
        **{name.replace(" ", "_"): fitted_chain(name) for name in every_chain},
        "booster": classifier,
        "named": DynamicChainClassifier(n_estimators=3).fit(named, rows.Y),
        "one_label": DynamicChainClassifier(n_estimators=3).fit(rows.X, rows.Y[:, 0]),
    }
    models |= {f"{name}_sparse": on_sparse(m) for name, m in models.items() if name != "named"}
    for name, model in models.items():
        to_stock(model, tmp_path / f"export_{name}")
    booster = classifier.booster_
    booster.save_model(tmp_path / "plugin.ubj")
    stock_booster(booster).save_model(tmp_path / "booster_all.ubj")

    subprocess.run([stock_python, "-I", "-W", "error", "-c", PROGRAM, tmp_path], check=True)

    for name, model in models.items():
        directory = tmp_path / f"export_{name}"
        X = inputs["sparse" if name.endswith("_sparse") else "dense"]
        X = pd.DataFrame(X, columns=names) if name == "named" else X
        Y_proba, Y_pred = (np.load(directory / f"{what}.npy") for what in ("proba", "labels"))
        np.testing.assert_allclose(Y_proba, model.predict_proba(X), rtol=0, atol=1e-6)
        np.testing.assert_array_equal(Y_pred, model.predict(X))
    np.testing.assert_allclose(
        np.load(tmp_path / "booster_all.npy"), booster.inplace_predict(rows.X_new), atol=1e-6
    )
