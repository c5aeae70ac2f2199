"""
Prediction with known labels
============================

:class:`~xdcc.chain.OrderFreeChainClassifier` predicts the probability of every label given the
features *and any labels that are already known*, for example from an inexpensive test. This example
has synthetic patients with age, season and temperature as features and symptoms as labels. The
cause, flu or allergy, is hidden and shows only in the symptoms.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import xdcc

random = np.random.default_rng(0)
n = 1500
winter = random.random(n) < 0.5
X = pd.DataFrame(
    {"age": random.uniform(1, 90, n), "winter": winter * 1, "temperature": random.normal(37, 1, n)}
)
flu = random.random(n) < np.where(winter, 0.4, 0.1)
allergy = ~flu & (random.random(n) < 0.3)
chances = {  # with flu, with an allergy, with neither
    "chills": (0.9, 0.03, 0.05),
    "cough": (0.8, 0.1, 0.08),
    "runny nose": (0.5, 0.85, 0.1),
    "headache": (0.7, 0.3, 0.1),
    "itching eyes": (0.05, 0.9, 0.08),
    "aching limbs": (0.6, 0.05, 0.04),
}
symptoms = {
    name: (random.random(n) < np.select([flu, allergy], [a, b], c)).astype(int)
    for name, (a, b, c) in chances.items()
}
Y = pd.DataFrame(symptoms)
chain = xdcc.OrderFreeChainClassifier(n_estimators=60, cv=3, random_state=0, n_jobs=1)
chain.fit(X[:1200], Y[:1200])

# %%
# Take one winter patient and ask a single question: does the patient have chills?

patient = X[1200:][winter[1200:]].iloc[[0]]
proba = chain.predict_proba(patient)[0]
answers = []
for answer in (0.0, 1.0):
    known = np.full((1, len(chances)), np.nan)
    known[0, 0] = answer
    answers.append(chain.predict_proba(patient, known=known)[0])

figure, ax = plt.subplots(figsize=(7.5, 4.4))
figure.set_label(
    "Probabilities of five symptoms. If chills are known to be present, cough, headache and aching "
    "limbs become more likely and itching eyes less likely; if they are known to be absent, the "
    "reverse"
)
others = range(1, len(chances))
for colour, values in zip(("C0", "C1"), answers, strict=True):
    for label in others:
        arrow = {"arrowstyle": "-|>", "color": colour, "lw": 3, "shrinkA": 0, "shrinkB": 0}
        arrow["mutation_scale"] = 18
        ax.annotate("", (values[label], label), (proba[label], label), arrowprops=arrow)
ax.plot(proba[1:], others, "o", color="0.15", markersize=8, label="nothing known")
ax.plot([], [], color="C0", linewidth=3, label="no chills")
ax.plot([], [], color="C1", linewidth=3, label="chills")
ax.set_yticks(others, Y.columns[1:])
ax.set(xlim=(0, 0.75), xlabel="probability", ylim=(5.5, 0.5))
figure.legend(loc="outside lower center", ncols=3)

# %%
# The same model scores whole labelsets. Chills, cough, headache and aching limbs indicate flu.
# Chills and cough with itching eyes fit neither cause.

for labelset in ([1, 1, 0, 1, 0, 1], [0, 0, 0, 0, 0, 0], [1, 1, 0, 0, 1, 0]):
    names = ", ".join(Y.columns[np.array(labelset) == 1]) or "no symptom"
    print(f"{np.exp(chain.log_prob(patient, [labelset])[0]):.4f}  {names}")
