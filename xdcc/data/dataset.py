"""`MultiLabelDataset`: features and binary labels of samples, with their names and types."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.data.frame import parts_of_frame

type Features = NDArray[np.float64] | sparse.csr_array
type Labels = NDArray[np.int8] | NDArray[np.float64]
type FeatureType = Literal["numeric", "nominal"]

_CHECKED_AT_ONCE = 2**20


@dataclass(frozen=True, eq=False, repr=False)
class MultiLabelDataset:
    """Features and labels of the same samples.

    Attributes
    ----------
    X : float64 array or CSR array, shape (n_samples, n_features)
        Nominal features are encoded as the index of the category. NaN is a missing value; entries
        that a CSR array does not store are 0, not missing.
    Y : int8 array, shape (n_samples, n_labels)
        0 and 1. If any label is unknown, a float64 array with NaN for unknown labels.
    feature_names : tuple of str, length n_features
    feature_types : tuple of {"numeric", "nominal"}, length n_features
    categories : tuple, length n_features
        The categories of a nominal feature (a tuple of str), None for a numeric one.
    label_names : tuple of str, length n_labels
    name : str
    dropped : tuple of str
        Names of attributes of the source that are not features: strings, dates and identifiers of
        the rows.
    sample_weight : float64 array, shape (n_samples,), or None
        Weights of the samples, if the source has any.

    Raises
    ------
    ValueError
        If shapes, names and types are inconsistent, or if `Y` contains values other than 0, 1 and
        NaN.

    Examples
    --------
    >>> from xdcc.data import load_dataset
    >>> digits = load_dataset("digits")
    >>> digits
    <MultiLabelDataset 'digits': 1797 samples, 64 features (dense), 7 labels, cardinality 2.897>
    >>> round(digits.cardinality, 2), digits.n_labelsets
    (2.9, 10)
    >>> digits[:10].Y.shape
    (10, 7)
    """

    X: Features
    Y: Labels
    feature_names: tuple[str, ...]
    feature_types: tuple[FeatureType, ...]
    categories: tuple[tuple[str, ...] | None, ...]
    label_names: tuple[str, ...]
    name: str
    dropped: tuple[str, ...] = ()
    sample_weight: NDArray[np.float64] | None = None

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        labels: Sequence[str],
        *,
        ignore: Sequence[str] = (),
        name: str = "frame",
    ) -> Self:
        """Make a data set from a DataFrame that has a column for each feature and label.

        Parameters
        ----------
        frame : DataFrame
            A frame of pandas, Polars, PyArrow or any other library that estimators accept.
        labels : sequence of str
            The label columns. Values are 0, 1, words such as yes and no, or
            missing if unknown.
        ignore : sequence of str, default=()
            Columns that are neither labels nor features, such as identifiers; they are `dropped`.
        name : str, default="frame"
            Name of the data set.

        Returns
        -------
        MultiLabelDataset
            The other columns are features, in their order: numbers are numeric, truth values,
            categories and names nominal. Missing values are NaN.

        Raises
        ------
        ValueError
            If a column is missing, a label has another value, there is no label or no feature, or
            a feature contains dates or free text; the message names the column.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"id": [7, 8], "hue": ["red", "blue"], "soft": [1, 0]})
        >>> toys = MultiLabelDataset.from_frame(frame, ["soft"], ignore=["id"], name="toys")
        >>> toys
        <MultiLabelDataset 'toys': 2 samples, 1 features (dense), 1 labels, cardinality 0.500>
        >>> toys.feature_names, toys.categories
        (('hue',), (('blue', 'red'),))
        """
        parts = parts_of_frame(frame, labels, ignore, name)
        return cls(**parts | {"Y": as_labels(parts["Y"])})

    def __post_init__(self) -> None:
        self._check_lengths()
        self._check_feature_types()
        self._check_labels()

    def _check_lengths(self) -> None:
        if self.X.ndim != 2 or self.Y.ndim != 2:
            raise ValueError(
                f"X and Y must have two dimensions, got shapes {self.X.shape} and {self.Y.shape}"
            )
        if self.X.shape[0] != self.Y.shape[0]:
            raise ValueError(f"X has {self.X.shape[0]} rows, but Y has {self.Y.shape[0]}")
        if not self.n_samples:
            raise ValueError(f"the data set {self.name!r} has no samples")
        expected = {
            "feature_names": self.n_features,
            "feature_types": self.n_features,
            "categories": self.n_features,
            "label_names": self.n_labels,
        }
        if self.sample_weight is not None:
            expected["sample_weight"] = self.n_samples
        for field, length in expected.items():
            if len(getattr(self, field)) != length:
                raise ValueError(
                    f"{field} has the length {len(getattr(self, field))}; expected {length}"
                )

    def _check_feature_types(self) -> None:
        columns = zip(self.feature_names, self.feature_types, self.categories, strict=True)
        for name, feature_type, categories in columns:
            if feature_type != ("numeric" if categories is None else "nominal"):
                raise ValueError(
                    f"the feature {name!r} is {feature_type!r} and has the categories "
                    f"{categories}; expected 'nominal' with categories, 'numeric' with None"
                )

    def _check_labels(self) -> None:
        # In blocks, to limit the memory for Boolean arrays.
        n_rows = 1 + _CHECKED_AT_ONCE // max(1, self.n_labels)
        for start in range(0, self.n_samples, n_rows):
            block = self.Y[start : start + n_rows]
            wrong = ~((block == 0) | (block == 1) | np.isnan(block))
            if wrong.any():
                row, label = np.argwhere(wrong)[0]
                raise ValueError(
                    f"the label {self.label_names[label]!r} of row {start + row} is "
                    f"{block[row, label]}; expected 0, 1 or NaN (unknown)"
                )

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns of `X`."""
        return int(self.X.shape[1])

    @property
    def n_labels(self) -> int:
        """Number of columns of `Y`."""
        return int(self.Y.shape[1])

    @property
    def cardinality(self) -> float:
        """Mean number of positive labels per sample; unknown labels do not count."""
        return float(np.sum(self.Y == 1) / self.n_samples)

    @property
    def density(self) -> float:
        """Label cardinality divided by the number of labels."""
        return self.cardinality / self.n_labels

    @property
    def n_labelsets(self) -> int:
        """Number of distinct rows of `Y`; unknown counts as a third value."""
        comparable = np.where(np.isnan(self.Y), 2, self.Y).astype(np.int8)
        return len(np.unique(comparable, axis=0))

    def __len__(self) -> int:
        return self.n_samples

    def __getitem__(self, rows: Any) -> "MultiLabelDataset":
        """Return the data set of some rows.

        Parameters
        ----------
        rows : int, slice, array of int or array of bool
            As for an array of length n_samples.

        Raises
        ------
        IndexError
            If `rows` is out of range.
        """
        positions = np.atleast_1d(np.arange(self.n_samples)[rows])
        weight = self.sample_weight
        return replace(
            self,
            X=self.X[positions],
            Y=self.Y[positions],
            sample_weight=None if weight is None else weight[positions],
        )

    def __repr__(self) -> str:
        storage = "sparse" if sparse.issparse(self.X) else "dense"
        return (
            f"<MultiLabelDataset {self.name!r}: {self.n_samples} samples, {self.n_features} "
            f"features ({storage}), {self.n_labels} labels, cardinality {self.cardinality:.3f}>"
        )

    def drop_features(self, names: Iterable[str]) -> "MultiLabelDataset":
        """Return the data set without some features, whose names are added to `dropped`.

        Raises
        ------
        ValueError
            If there is no feature of that name.
        """
        dropped = tuple(names)
        unknown = [name for name in dropped if name not in self.feature_names]
        if unknown:
            raise ValueError(f"{self.name} has no feature {unknown[0]!r}")
        keep = [i for i, name in enumerate(self.feature_names) if name not in dropped]
        X: Features = self.X[:, keep]
        return replace(
            self,
            X=X if sparse.issparse(X) else np.ascontiguousarray(X),
            feature_names=tuple(self.feature_names[i] for i in keep),
            feature_types=tuple(self.feature_types[i] for i in keep),
            categories=tuple(self.categories[i] for i in keep),
            dropped=(*self.dropped, *dropped),
        )


def as_labels(values: NDArray[np.float64]) -> Labels:
    """Convert labels to int8, unless one is NaN (unknown).

    Examples
    --------
    >>> as_labels(np.array([[1.0, 0.0]])), as_labels(np.array([[1.0, np.nan]]))
    (array([[1, 0]], dtype=int8), array([[ 1., nan]]))
    """
    return values if np.isnan(values).any() else values.astype(np.int8)


def concatenate(first: MultiLabelDataset, second: MultiLabelDataset) -> MultiLabelDataset:
    """Return the samples of `first` followed by those of `second`.

    Raises ValueError if features, their types and categories, labels or storage differ.

    Examples
    --------
    >>> from xdcc.data import load_dataset
    >>> digits = load_dataset("digits")
    >>> len(concatenate(digits[:10], digits[50:55]))
    15
    """
    for field in ("feature_names", "feature_types", "categories", "label_names", "dropped"):
        if getattr(first, field) != getattr(second, field):
            raise ValueError(f"the two parts of {first.name!r} differ in {field}")
    weight: NDArray[np.float64] | None = None
    if first.sample_weight is not None and second.sample_weight is not None:
        weight = np.concatenate([first.sample_weight, second.sample_weight])
    elif first.sample_weight is not None or second.sample_weight is not None:
        raise ValueError(f"only one of the two parts of {first.name!r} has sample weights")
    X: Features
    if sparse.issparse(first.X) and sparse.issparse(second.X):
        X = sparse.vstack([first.X, second.X], format="csr")
    elif sparse.issparse(first.X) or sparse.issparse(second.X):
        raise ValueError(f"only one of the two parts of {first.name!r} is sparse")
    else:
        X = np.concatenate([first.X, second.X])
    return replace(
        first,
        X=X,
        Y=np.concatenate([first.Y, second.Y]),
        sample_weight=weight,
    )
