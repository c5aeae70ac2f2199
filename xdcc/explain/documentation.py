"""Sentences that the documentation of explanations shares."""

from xdcc.base.documentation import documented_with

documented_explanation = documented_with(
    {
        "model": """
            model : chain, MultiLabelClassifier or MultiLabelXGBClassifier
                A fitted one; a chain is a DynamicChainClassifier or an OrderFreeChainClassifier.
            """,
        "takes_model": """
            Parameters
            ----------
            model : chain, MultiLabelClassifier or MultiLabelXGBClassifier
                A fitted one; a chain is a DynamicChainClassifier or an OrderFreeChainClassifier.
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
