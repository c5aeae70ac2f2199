"""
Readable rules with BOOMER
==========================

:class:`~xdcc.comparators.boomer.BoomerClassifier` boosts rules. If the conditions of a rule hold,
it adds to the scores of one label or of all labels. The first rule, the default rule, always holds.
You can read the rules one by one.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import xdcc

N_RULES = 300
train, test = (xdcc.data.load_dataset("digits", part) for part in ("train", "test"))
pixels = [f"pixel {number // 8 + 1}.{number % 8 + 1}" for number in range(64)]  # row.column
model = xdcc.BoomerClassifier(n_rules=N_RULES, random_state=0).fit(
    pd.DataFrame(train.X, columns=pixels), pd.DataFrame(train.Y, columns=train.label_names)
)


def sentence(rule):
    """Write a rule as a sentence."""
    words = {"<=": "at most", ">": "more than", "=": "equal to", "!=": "not"}
    conditions = " and ".join(
        f"{c.attribute} is {words[c.relation]} {c.value:g}" for c in rule.conditions
    )
    effects = " and ".join(
        f"“{label.replace('_', ' ')}” gets {'more' if score > 0 else 'less'} likely ({score:+.2f})"
        for label, score in rule.scores.items()
    )
    return f"{f'If {conditions},' if conditions else 'Always'} {effects}."


for rule in sorted(model.rules_[1:40], key=lambda rule: len(rule.conditions))[:6]:
    print(sentence(rule))

# %%
# A prediction sums the scores of the rules that hold. The plot shows the scores of one digit after
# each rule:

new = pd.DataFrame(test.X, columns=pixels)
right_rows = np.flatnonzero((model.predict(new) == test.Y).all(axis=1))
row = right_rows[test.Y[right_rows].sum(axis=1).argmax()]  # the first with most labels
steps = list(range(1, N_RULES + 1))
scores = np.array([score[0] for score in model.staged_decision_function(new.iloc[[row]], steps)])

figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 4.4), width_ratios=[1, 3])
figure.set_label(
    "A handwritten digit and seven step curves: the score of each label after 1 to 300 rules. The "
    "scores of the true labels end above zero"
)
left.imshow(test.X[row].reshape(8, 8), cmap="gray_r")
left.set_axis_off()
ends = []
for label, name in enumerate(test.label_names):
    true = test.Y[row, label] == 1
    right.step(steps, scores[:, label], color=f"C{label}", linestyle="-" if true else ":")
    ends.append((scores[-1, label], name.replace("_", " "), f"C{label}"))
ends.sort()
gap = np.ptp(scores) / 15
at = -np.inf
for end, name, colour in ends:
    at = max(end, at + gap)
    right.text(N_RULES + 4, at, name, color=colour, va="center")
right.plot([0, N_RULES], [0, 0], color="0.5", linewidth=1)
right.set(xlim=(0, 1.4 * N_RULES), xlabel="rules", ylabel="score")
right.set_xticks(range(0, N_RULES + 1, 100))
right.set_title("solid: true labels", fontsize=12, weight="normal")
