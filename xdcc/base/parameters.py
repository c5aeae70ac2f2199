"""``declares_parameters``: an estimator's parameters as fields of its class, declared once."""

from dataclasses import dataclass, field
from typing import dataclass_transform


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def declares_parameters[T](cls: type[T]) -> type[T]:
    """Make a constructor that stores its arguments, one for each field of a class, as a decorator.

    Fields are the attributes that are declared with a type and a default in the class or in a
    class above it that has this decorator; what ``fit`` learns is declared where it is set. The
    constructor takes keyword arguments only, unless a field says ``field(kw_only=False)``, and its
    signature is what scikit-learn reads the parameters from.

    Parameters
    ----------
    cls : type
        A subclass of scikit-learn's `BaseEstimator`.

    Returns
    -------
    type
        The class.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> @declares_parameters
    ... class Trees(BaseEstimator):
    ...     n_estimators: int = 100
    >>> @declares_parameters
    ... class Forest(Trees):
    ...     bootstrap: bool = True
    >>> Forest(n_estimators=10).get_params()
    {'bootstrap': True, 'n_estimators': 10}
    """
    # Estimators are equal only to themselves, and scikit-learn knows how to print them.
    return dataclass(kw_only=True, eq=False, repr=False)(cls)
