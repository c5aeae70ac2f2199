"""The parts of the speed benchmark (`speed.py`): what is measured, how, and the report."""
