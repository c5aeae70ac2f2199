"""How many threads kernels use."""

import pytest
from threadpoolctl import threadpool_limits

from xdcc.kernels.threads import n_threads


def test_a_given_number():
    assert n_threads(3) == 3


@pytest.mark.parametrize("n_jobs", [None, -1])
@pytest.mark.parametrize("offered", [1, 2])
def test_as_many_as_openmp_offers(n_jobs, offered):
    with threadpool_limits(offered, user_api="openmp"):
        assert n_threads(n_jobs) == offered
