"""
SHAP values per label
=====================

One booster predicts all labels, and each label has its own explanation:
:func:`~xdcc.explain.shap_values` returns the contribution of every feature to the log-odds of every
label. The features here are the pixels of handwritten digits, so you can plot the explanations as
images.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import xdcc
from xdcc.explain import shap_values

train, test = (xdcc.data.load_dataset("digits", part) for part in ("train", "test"))
booster = xdcc.MultiLabelXGBClassifier(n_estimators=60, random_state=0, n_jobs=1)
booster.fit(train.X, pd.DataFrame(train.Y, columns=train.label_names))
explained = shap_values(booster, test.X)
sizes = np.abs(explained.of_features).mean(axis=0).reshape(-1, 8, 8)

# %%
# The maps show the mean absolute SHAP value over the test digits. The brighter a pixel, the more it
# changes the prediction of the label.

figure, axes = plt.subplots(2, 4, figsize=(8.4, 4.9))
figure.set_label(
    "Eight squares: the mean digit, and for each of seven labels a map of eight by eight pixels "
    "that shows which pixels change its prediction most"
)
axes[0, 0].imshow(test.X.mean(axis=0).reshape(8, 8), cmap="gray_r")
axes[0, 0].set_title("mean digit", fontsize=12, weight="normal")
for ax, name, size in zip(axes.flat[1:], explained.label_names, sizes, strict=True):
    image = ax.imshow(size, vmin=0, vmax=np.quantile(sizes, 0.995))
    ax.set_title(name.replace("_", " "), fontsize=12)
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
    ax.grid(visible=False)
figure.colorbar(image, ax=axes, label="mean |SHAP value| (log-odds)", shrink=0.8)
