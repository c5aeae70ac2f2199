"""How many threads kernels use."""

from threadpoolctl import threadpool_limits

from xdcc.kernels.threads import n_threads


def test_a_given_number():
    assert n_threads(3) == 3


def test_as_many_as_openmp_offers():
    with threadpool_limits(1, user_api="openmp"):
        assert n_threads(None) == 1
    with threadpool_limits(2, user_api="openmp"):
        assert n_threads(None) == 2
