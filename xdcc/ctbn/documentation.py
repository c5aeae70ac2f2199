"""Sentences that the documentation of trees of labels shares."""

from xdcc.base.documentation import documented_with

documented_tree = documented_with(
    {
        "log_cpd": """
            log_cpd : float array of shape (n_labels, 2, 2, n_samples)
                Conditional probabilities.
            """,
        "parents": """
            parents : int array of shape (n_labels,)
                The tree.
            """,
        "learner": """
            learner : Learner
                Trains the models.
            """,
        "rows": """
            X : float array or CSR matrix of shape (n, n_features)
                Features.
            """,
        "known_or_not": """
            Y : float array of shape (n, n_labels)
                0, 1, or NaN for unknown.
            """,
    }
)
"""Fills in the docstring of a function, as a decorator."""
