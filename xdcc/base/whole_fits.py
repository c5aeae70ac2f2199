"""A ``fit`` that does not come to its end leaves the estimator as it was.

An exception, an interrupt from the keyboard or a callback that raises would else leave what the
data said beside models of earlier data, or an estimator that looks fitted and has no model.
"""

import functools
from collections.abc import Callable
from typing import Any


def whole_or_nothing[T: Callable[..., Any]](method: T) -> T:
    """Make a method take back the attributes that it has set if it raises, as a decorator.

    Parameters
    ----------
    method : function
        A method that sets attributes, and does not change the objects that were there.

    Returns
    -------
    function

    Examples
    --------
    >>> class Estimator:
    ...     @whole_or_nothing
    ...     def fit(self):
    ...         self.n_features_in_ = 3
    ...         raise KeyboardInterrupt
    >>> estimator = Estimator()
    >>> try:
    ...     estimator.fit()
    ... except KeyboardInterrupt:
    ...     print(vars(estimator))
    {}
    """

    @functools.wraps(method)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            self.__dict__ = before
            raise

    return whole  # type: ignore[return-value]
