"""Sentences that the documentation of explanations shares."""

from xdcc.base.documentation import documented_with

documented_explanation = documented_with(
    {
        "model": """
            model : DynamicChainClassifier or MultiLabelXGBClassifier
                A fitted one.
            """,
        "takes_model": """
            Parameters
            ----------
            model : DynamicChainClassifier or MultiLabelXGBClassifier
                A fitted one.
            """,
        "rows": """
            X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
                Rows to predict.
            """,
        "model_errors": """
            NotFittedError
                If the model is not fitted.
            TypeError
                If the model is something else.
            """,
        "ax": """
            ax : Axes, optional
                Where to draw; a new figure by default.
            """,
        "pyplot_errors": """
            ImportError
                If Matplotlib cannot be imported.
            """,
    }
)
"""Fills in the docstring of a function, as a decorator."""
