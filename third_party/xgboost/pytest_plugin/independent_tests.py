"""A pytest plugin of upstream_suite.py: XGBoost's tests, in any order and on a busy machine.

Each test begins with XGBoost's default settings, whatever the tests before it have left, and Dask's
`gen_cluster` has no time limit of seconds.
"""

import sys

import pytest
import xgboost

DEFAULTS = xgboost.get_config()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Undo what a test has set, and let Dask take an hour, as it does under a debugger."""
    xgboost.set_config(**DEFAULTS)
    if dask_tests := sys.modules.get("distributed.utils_test"):
        vars(dask_tests)["is_debugging"] = lambda: True
