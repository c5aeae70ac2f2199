"""The form of Y in ``fit``, of labels, targets or classes, which predictions get."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from xdcc.base.state_checks import require
from xdcc.base.stored import stored
from xdcc.base.stored_types import Names, Shape


@stored
@dataclass(frozen=True, eq=False)
class LabelForm:
    """The form of Y in ``fit``.

    Attributes
    ----------
    names : array of str of shape (n_labels,)
        Names of the labels.
    classes : array of shape (n_labels, 2), or (n_classes,)
        0 and 1 for each label of a matrix; the sorted values of a target of one dimension.
    is_named : bool
        Whether the names are those of a DataFrame, by which other data are matched.

    Examples
    --------
    >>> form = LabelForm(np.array(["answer"], object), np.array(["no", "yes"]), is_named=False)
    >>> form.labels(np.array([[1], [0]]))
    array(['yes', 'no'], dtype='<U3')
    """

    names: Annotated[NDArray[np.object_], Names("names")]
    classes: NDArray[Any]
    is_named: bool

    def _check_state(self) -> None:
        if self.classes.ndim == 2:
            require(np.array_equal(self.classes, np.tile([0, 1], (self.n_labels, 1))), "classes")
        else:
            require(self.n_labels == 1 and self.classes.shape in ((1,), (2,)), "classes")

    @classmethod
    def of_matrix(cls, names: NDArray[np.object_], *, is_named: bool) -> "LabelForm":
        """Describe a matrix of labels."""
        return cls(names, np.tile([0, 1], (len(names), 1)), is_named)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.names)

    def labels(self, labels: NDArray[np.int64]) -> NDArray[Any]:
        """Give zeros and ones, `(n_samples, n_labels)`, the form of Y."""
        if self.classes.ndim == 2:
            return labels
        # A target of one class has a label that is 0 throughout.
        column = labels[:, 0] if len(self.classes) == 2 else np.zeros_like(labels[:, 0])
        return np.asarray(self.classes[column])

    def proba(self, proba: NDArray[np.floating]) -> NDArray[np.floating]:
        """Give probabilities, `(n_samples, n_labels)`, the form of scikit-learn's for such a Y.

        Examples
        --------
        >>> form = LabelForm(np.array(["answer"], object), np.array(["no", "yes"]), is_named=False)
        >>> form.proba(np.array([[0.25]]))
        array([[0.75, 0.25]])
        """
        if self.classes.ndim == 2:
            return proba
        if len(self.classes) == 1:
            return np.ones_like(proba)
        return np.concatenate((1 - proba, proba), axis=1)

    def column_names(self, n_dims: int, n_columns: int) -> NDArray[Any]:
        """Return the names of the columns of predictions with these dimensions, for DataFrames."""
        has_classes = self.classes.ndim == 1 and n_dims == 2 and n_columns == len(self.classes)
        return self.classes if has_classes else self.names


@stored
@dataclass(frozen=True, eq=False)
class TargetForm:
    """The form of Y in ``fit`` of a regressor.

    Attributes
    ----------
    names : array of str of shape (n_targets,)
        Names of the targets.
    is_named : bool
        Whether the names are those of a DataFrame, by which other data are matched.
    is_single : bool
        Whether Y had one dimension.

    Examples
    --------
    >>> TargetForm(np.array(["price", "weight"], object), is_named=True, is_single=False).n_targets
    2
    """

    names: Annotated[NDArray[np.object_], Names("names")]
    is_named: bool
    is_single: bool

    def _check_state(self) -> None:
        require(self.n_targets == 1 or not self.is_single, "is_single")

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return len(self.names)

    def labels(self, targets: NDArray[Any]) -> NDArray[np.float64]:
        """Give targets, `(n_samples, n_targets)`, the form of Y."""
        return targets[:, 0] if self.is_single else targets

    def column_names(self, n_dims: int, n_columns: int) -> NDArray[Any]:
        """Return the names of the columns of predictions, for DataFrames."""
        return self.names


@stored
@dataclass(frozen=True, eq=False)
class ClassForm:
    """The form of Y in ``fit`` of a classifier whose rows have one of several classes.

    Attributes
    ----------
    classes : array of shape (n_classes,)
        The classes, sorted.

    Examples
    --------
    >>> ClassForm(np.array(["blue", "red"])).column_names(2, 2)
    array(['blue', 'red'], dtype='<U4')
    """

    classes: Annotated[NDArray[Any], Shape(None)]

    def _check_state(self) -> None:
        require(self.n_classes > 1, "classes")

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def labels(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return the classes at some positions, `(n_samples,)`."""
        return np.asarray(self.classes[positions])

    def proba(self, proba: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return probabilities of classes, `(n_samples, n_classes)`."""
        return proba

    def column_names(self, n_dims: int, n_columns: int) -> NDArray[Any]:
        """Return the names of the columns of predictions with these dimensions, for DataFrames."""
        return self.classes if n_dims == 2 else np.array(["class"], dtype=object)
