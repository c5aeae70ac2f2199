"""Sentences that the documentation of random trees shares: its functions and their twins."""

from xdcc.base.documentation import documented_with

documented_tree = documented_with(
    {
        "forest": """
            forest : Forest
                The trees.
            """,
        "rule": """
            rule : ChainRule
                How the chain decides.
            """,
        "weighting": """
            weighting : Weighting
                How trees are weighed.
            """,
        "sigma": """
            sigma : float
                Share of the label tests that are active.
            """,
        "n_threads": """
            n_threads : int
                Number of threads.
            """,
    }
)
"""Fills in the docstring of a function, as a decorator."""
