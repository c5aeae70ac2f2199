"""MLflow saves an estimator with a signature, and serves what it loads, in both of its ways."""

import warnings

import numpy as np
import pytest

from xdcc.serving import load_model, save_model

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
with warnings.catch_warnings(action="ignore"):
    mlflow = pytest.importorskip("mlflow")
    pyfunc = pytest.importorskip("mlflow.pyfunc")


class Probabilities(pyfunc.PythonModel):
    def load_context(self, context):
        self.model = load_model(context.artifacts["model"])

    def predict(self, context, model_input, params=None):
        return self.model.predict_proba(model_input)


@pytest.mark.parametrize("name", ["booster of one label", "two levels"])
def test_round_trip(mixed_models, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model, X = mixed_models[name], mixed_models.X_new
    expected = model.predict_proba(X)
    signature = mlflow.models.infer_signature(X, expected)
    mlflow.sklearn.save_model(
        model,
        "whole",
        signature=signature,
        serialization_format="cloudpickle",
        pyfunc_predict_fn="predict_proba",
    )
    save_model(model, "model.xdcc")
    artifacts = {"model": "model.xdcc"}
    pyfunc.save_model(
        "file", python_model=Probabilities(), artifacts=artifacts, signature=signature
    )
    for folder in ("whole", "file"):
        served = pyfunc.load_model(folder)
        np.testing.assert_array_equal(served.predict(X), expected)
        with pytest.raises(mlflow.exceptions.MlflowException, match=r"shape|schema"):
            served.predict(X[:, 1:])
    loaded = mlflow.sklearn.load_model("whole")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
