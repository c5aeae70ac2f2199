"""A splitter for label matrices, unknown labels included.

scikit-learn's stratified splitters take no label matrix, and its default for one, `KFold`, leaves
it to chance whether a rare label occurs in every fold; a Y with NaN is refused by all of them that
look at it. `LabelStratifiedKFold` goes wherever scikit-learn takes a `cv`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator

from xdcc.base.domains import Number, Seed, check_domain
from xdcc.base.folds import stratified_folds
from xdcc.base.labels import check_labels

__all__ = ["LabelStratifiedKFold"]


class LabelStratifiedKFold(BaseCrossValidator):
    """Folds in which every label is about as frequent as in all rows.

    Rows are assigned to folds by iterative stratification (Sechidis, Tsoumakas, Vlahavas: "On the
    Stratification of Multi-label Data", 2011). Of a label that is unknown in some rows, the known
    ones are spread evenly, present and absent ones alike.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds; None is the seed 0.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(200, n_labels=4, unknown=0.2, random_state=0)
    >>> cv = LabelStratifiedKFold(3, random_state=0)
    >>> cross_val_score(xdcc.LogisticLabels(), data.X, data.Y, cv=cv).shape
    (3,)
    """

    def __init__(
        self, n_splits: int = 5, *, random_state: int | np.random.RandomState | None = None
    ) -> None:
        self.n_splits = n_splits
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, y, groups : object, optional
            Not used.

        Returns
        -------
        int
        """
        return self.n_splits

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Split rows, one fold after the other being the test part.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Only the number of rows matters.
        y : array-like, sparse matrix, DataFrame or Series of shape (n_samples, n_labels) or \
(n_samples,)
            0, 1, or NaN where a label is unknown; or the classes of a binary target.
        groups : object, optional
            Not used.

        Yields
        ------
        train, test : int arrays
            Positions of rows.

        Raises
        ------
        ValueError
            If a parameter is outside its domain, there are fewer rows than folds, `y` is missing
            or not as described, or X and `y` have different lengths.
        """
        check_domain("n_splits", self.n_splits, Number(low=2, whole=True))
        check_domain("random_state", self.random_state, Seed())
        return super().split(X, y, groups)

    def _iter_test_indices(
        self, X: Any = None, y: Any = None, groups: Any = None
    ) -> Iterator[NDArray[np.intp]]:
        labels = check_labels(y, type(self).__name__).Y
        unknown = np.isnan(labels)
        partly = unknown.any(axis=0)
        absent = ~unknown[:, partly] & (labels[:, partly] == 0)
        folds = stratified_folds(
            np.column_stack((labels == 1, absent)), self.n_splits, self.random_state
        )
        for fold in range(self.n_splits):
            yield np.flatnonzero(folds == fold)
