"""The parts of the chain driver (`run_chain.py`): options, data, models, report."""
