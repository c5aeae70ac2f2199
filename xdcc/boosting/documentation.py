"""Sentences that the documentation of the slow twins shares."""

from xdcc.base.documentation import documented_with

documented_twin = documented_with(
    {
        "rows": """
            X : array-like, shape (n_rows, n_features)
                NaN where missing.
            """,
        "derivatives": """
            grad, hess : array-like, shape (n_rows, n_labels)
                Derivatives of the loss.
            """,
        "raises": """
            Raises
            ------
            ValueError
                If the method or the scope is unknown.
            """,
        "raises_for_scope": """
            Raises
            ------
            ValueError
                If the scope is unknown.
            """,
    }
)
"""Fills in the docstring of a function, as a decorator."""
