"""
Label dependencies as a graph
=============================

If a booster of a chain splits on a label that an earlier step decided, that label helps to predict
others. :func:`~xdcc.explain.label_dependencies` sums these gains. In the synthetic data of this
example, each label depends on one earlier label, so the true graph is known.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import xdcc
from xdcc.explain import label_dependencies

random = np.random.default_rng(0)
X = random.normal(size=(1500, 6))
parents = {1: 0, 2: 0, 3: 1, 4: 1, 5: 2}  # label → the label that it depends on
Y = np.zeros((1500, 6), dtype=int)
Y[:, 0] = X[:, 0] > 0
for label, parent in parents.items():
    Y[:, label] = (X[:, label] > 0) ^ Y[:, parent]
Y ^= random.random(Y.shape) < 0.03

chain = xdcc.DynamicChainClassifier(
    chain_length=None, order="certainty", n_estimators=30, max_depth=3, random_state=0, n_jobs=1
)
chain.fit(X[:1000], Y[:1000])
found = label_dependencies(chain, X[1000:], Y[1000:])
gains = found.groupby(["source", "target"], observed=True)["gain"].sum()

# %%
# An arrow leads from a decided label to a label that it helps to predict; its width shows the gain.
# Pairs that truly depend on each other are orange. With ``order="certainty"``, the chain decides
# the most certain label first, so the arrows follow the direction in which the data were generated.

graph = nx.DiGraph()
names = [f"label_{label}" for label in range(6)]
graph.add_nodes_from(names)
made = {frozenset((names[label], names[parent])) for label, parent in parents.items()}
strongest = gains[gains > 0.05 * gains.max()]
places = {0: (0, 2), 1: (-1, 1), 2: (1, 1), 3: (-1.6, 0), 4: (-0.4, 0), 5: (1, 0)}
places = {names[label]: place for label, place in places.items()}

figure, ax = plt.subplots(figsize=(7.5, 5))
figure.set_label(
    "Six labels as a tree of circles with arrows between them; the widest arrows are orange and "
    "connect the pairs that truly depend on each other"
)
nx.draw_networkx_nodes(graph, places, node_size=2200, node_color="#dceaf4", edgecolors="C0", ax=ax)
texts = {name: name.replace("label_", "y") for name in names}
nx.draw_networkx_labels(graph, places, texts, font_size=14, ax=ax)
for (source, target), gain in strongest.items():
    nx.draw_networkx_edges(
        graph,
        places,
        [(source, target)],
        width=1 + 7 * gain / gains.max(),
        edge_color="C1" if frozenset((source, target)) in made else "0.7",
        connectionstyle="arc3,rad=0.12",
        arrowsize=20,
        node_size=2200,
        ax=ax,
    )
ax.set_axis_off()
ax.margins(0.12)
