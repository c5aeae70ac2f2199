"""Tries the installed wheels: imports xdcc and trains its booster on embedded data."""

from importlib.metadata import version

import xdcc

train, test = (xdcc.data.load_dataset("digits", part) for part in ("train", "test"))
model = xdcc.MultiLabelXGBClassifier(n_estimators=20).fit(train.X, train.Y)
accuracy = xdcc.metrics.hamming_accuracy(test.Y, model.predict(test.X))
print(f"xdcc {version('xdcc')}, xgboost {version('xgboost')}: Hamming accuracy {accuracy:.3f}")
assert accuracy > 0.9
