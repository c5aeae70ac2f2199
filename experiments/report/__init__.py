"""Makes the report of experiments: tables, sentences on the papers' claims, and figures."""
