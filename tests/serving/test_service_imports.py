"""A service that maps a compiled model imports NumPy, and nothing else that is large."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tests.serving.mixed_models import rows_for_two_levels
from xdcc import serving
from xdcc.automatic import MultiLabelClassifier
from xdcc.boosting import MultiLabelXGBClassifier, MultiTargetXGBRegressor
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.decision import TunedDecisionClassifierCV
from xdcc.decision.rules import RULE_NAMES
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.linear import LogisticLabels
from xdcc.serving import CompiledModel, save_model

LARGE = {"pandas", "sklearn", "scipy", "xgboost", "narwhals", "joblib", "matplotlib", "dask"}
BOOSTER = MultiLabelXGBClassifier(n_estimators=3, n_jobs=1)
MODELS = {
    "booster": BOOSTER,
    "pipeline": make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), ["f0", "f1"]),
            (OneHotEncoder(sparse_output=False), ["f2"]),
        ),
        BOOSTER,
    ),
    "targets": MultiTargetXGBRegressor(n_estimators=3, n_jobs=1),
    "chain": DynamicChainClassifier(n_estimators=3, n_jobs=1),
    "order-free chain": OrderFreeChainClassifier(n_estimators=3, cv=2, n_jobs=1, random_state=0),
    "mixture": MultiLabelClassifier(cv=2, n_jobs=1, random_state=0),
    "joint labelset": MultiLabelClassifier(
        measure="subset_accuracy", cv=2, n_jobs=1, random_state=0
    ),
    "forest": TunedDecisionClassifierCV(
        SketchedExtraTreesClassifier(n_estimators=5, n_jobs=1), cv=2, random_state=0
    ),
    "linear": TunedDecisionClassifierCV(LogisticLabels(C=1.0), cv=2, random_state=0),
    "constraints": TunedDecisionClassifierCV(
        BOOSTER, cv=2, constraints={"label_0": 0.3}, random_state=0
    ),
    **{
        name: TunedDecisionClassifierCV(BOOSTER, rules=[name], cv=2, random_state=0)
        for name in RULE_NAMES
        if name != "least_cost"
    },
}
SERVICE = """
import json, sys
from xdcc.serving import load_model
model = load_model(sys.argv[1], compiled=True)
row = dict(zip(model.feature_names_in_.tolist(), map(float, sys.argv[2:])))
labels = model.predict(row).tolist()
import numpy as np
assert model.predict(np.array([list(row.values())])).tolist() == labels
print(json.dumps([labels, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


@pytest.mark.parametrize("name", MODELS)
def test_first_answer(name, tmp_path):
    X, Y = rows_for_two_levels()
    frame = pd.DataFrame(np.nan_to_num(X)).add_prefix("f")
    model = CompiledModel(clone(MODELS[name]).fit(frame, Y))
    save_model(model, tmp_path / "model")
    values = [str(value) for value in frame.iloc[0].tolist()]
    done = subprocess.run(
        [sys.executable, "-P", "-c", SERVICE, str(tmp_path / "model"), *values],
        capture_output=True,
        check=True,
        text=True,
    )
    labels, loaded = json.loads(done.stdout)
    assert labels == model.predict(frame[:1]).tolist()
    assert "numpy" in loaded
    assert not LARGE & set(loaded)


def test_training_modules_are_imported_by_what_needs_them():
    code = "import sys, xdcc.serving as s; s.CompiledModel; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, check=True)
    loaded = set(done.stdout.decode().split())
    assert not LARGE & loaded
    assert "xdcc.base.estimator" not in loaded
    with pytest.raises(AttributeError, match=r"module .xdcc\.serving. has no attribute .load."):
        _ = serving.load
