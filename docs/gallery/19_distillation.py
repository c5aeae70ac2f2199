"""
One booster instead of a mixture
================================

:func:`xdcc.distil` trains a single booster on the probabilities of a large model (knowledge
distillation; Hinton, Vinyals and Dean, 2015). Besides the training rows it learns from generated
ones: training rows that take some features of others, labelled by the large model.
"""

import pickle

import matplotlib.pyplot as plt
import pandas as pd

import xdcc
from xdcc.metrics import log_loss
from xdcc.serving import CompiledModel

data = xdcc.data.load_digits_properties()
train, test = data[:500], data[500:]

teacher = xdcc.MultiLabelClassifier(random_state=0, n_jobs=1).fit(train.X, train.Y)
student = xdcc.distil(teacher, train.X, train.Y, n_jobs=1)

# %%
# The report compares both on a fold of the training rows that neither has seen.

print(pd.DataFrame(student.report_).T)

# %%
# Compare them on new rows with boosters that have learned the labels, and with students of fewer
# trees.

models = {"teacher": teacher, "student": student}
for n_estimators in (25, 100):
    models[f"student, {n_estimators} trees"] = xdcc.distil(
        teacher, train.X, train.Y, n_estimators=n_estimators, n_jobs=1
    )
for n_estimators in (25, 100, 400):
    booster = xdcc.MultiLabelXGBClassifier(
        n_estimators=n_estimators, max_depth=4, learning_rate=0.1, sketch_size=1, n_jobs=1
    )
    models[f"booster on labels, {n_estimators} trees"] = booster.fit(train.X, train.Y)

figure, ax = plt.subplots(figsize=(7.5, 4.8))
figure.set_label(
    "Held-out log-loss against the size of the compiled model, for the teacher, students and "
    "boosters on labels"
)
for name, model in models.items():
    kilobytes = len(pickle.dumps(CompiledModel(model))) / 1000
    loss = log_loss(test.Y, model.predict_proba(test.X))
    colour = {"t": "C0", "s": "C1", "b": "C2"}[name[0]]
    ax.scatter(kilobytes, loss, color=colour)
    ax.annotate(name, (kilobytes, loss), xytext=(5, 5), textcoords="offset points", fontsize=8)
ax.set(
    title="7 properties of 500 digits",
    xlabel="compiled model (kB)",
    ylabel="held-out log-loss",
    xscale="log",
)
ax.margins(x=0.25, y=0.1)
