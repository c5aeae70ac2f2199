"""The parameter `random_state`, which means the same for every estimator.

None is the seed 0, as in XGBoost's own estimators: two fits give the same model.
"""

import numpy as np
from sklearn.utils import check_random_state

from xdcc.base.domains import Seed, check_domain


def seed_from(random_state: int | np.random.RandomState | None) -> int:
    """Return a seed for a parameter `random_state`.

    An integer is the seed itself, a generator draws one, None is 0; a ValueError says if it is
    something else, or out of range.

    Examples
    --------
    >>> seed_from(7), seed_from(None)
    (7, 0)
    """
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(np.iinfo(np.int32).max))
    check_domain("random_state", random_state, Seed())
    return int(random_state or 0)


def generator_from(random_state: int | np.random.RandomState | None) -> np.random.RandomState:
    """Return a generator for a parameter `random_state`.

    Examples
    --------
    >>> generator_from(None).randint(100), generator_from(0).randint(100)
    (44, 44)
    """
    return check_random_state(0 if random_state is None else random_state)
