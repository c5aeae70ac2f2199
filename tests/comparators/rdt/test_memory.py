"""Memory that is short: an error, where a failed allocation once ended the process."""

from tests.short_memory import train_with_little_memory

SETUP = """
from xdcc import RandomDecisionTreeClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(30000, 100)).astype(np.float32)
Y = (rng.random((30000, 30)) < 0.2).astype(int)
RandomDecisionTreeClassifier(n_estimators=2, n_jobs=2).fit(X[:50], Y[:50])  # imports all modules
"""


def test_a_tree_for_which_memory_does_not_suffice_is_an_error(run_python):
    for codes in train_with_little_memory(
        run_python,
        SETUP,
        "RandomDecisionTreeClassifier(n_estimators=20, n_jobs=n_jobs).fit(X, Y)",
        "Memory did not suffice for",
        [16, 24, 40, 60, 90, 600],
    ):
        assert set(codes) <= {0, 3, 4}
        assert codes[0] != 0
        assert codes[-1] == 0
