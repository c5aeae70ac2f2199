"""``Learned``: attributes of fitted estimators that are parts of the form of their data."""

from typing import Any, Self, overload


class Learned[T]:
    """An attribute that is read from another one, and missing before ``fit``.

    Parameters
    ----------
    form : str
        Name of the attribute that has the form.
    part : str
        Name of the attribute of the form; one that is None is missing.

    Examples
    --------
    >>> from xdcc.base.input_form import InputForm
    >>> class Model:
    ...     n_features_in_ = Learned("_input_form", "n_features")
    >>> model = Model()
    >>> hasattr(model, "n_features_in_")
    False
    >>> model._input_form = InputForm(3)
    >>> model.n_features_in_
    3
    """

    def __init__(self, form: str, part: str) -> None:
        self._form, self._part = form, part

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        form = vars(instance).get(self._form)
        value = None if form is None else getattr(form, self._part)
        if value is None:
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self._name!r}")
        return value

    def __set__(self, instance: Any, value: Any) -> None:
        raise AttributeError(f"{self._name} is learned by fit and cannot be set")
