"""A real data set that needs no file: handwritten digits, with properties of the digit as labels.

The images come with scikit-learn. The digit determines the labels, so they depend on each other
logically: a square is never prime, and the only even prime is 2. Each label alone is harder to
learn than the digit. Each digit has its own labelset.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from xdcc.data.dataset import MultiLabelDataset

#: The digits that have each property.
DIGIT_PROPERTIES: dict[str, frozenset[int]] = {
    "even": frozenset({0, 2, 4, 6, 8}),
    "prime": frozenset({2, 3, 5, 7}),
    "at_least_5": frozenset({5, 6, 7, 8, 9}),
    "multiple_of_3": frozenset({0, 3, 6, 9}),
    "perfect_square": frozenset({0, 1, 4, 9}),
    "closed_loop": frozenset({0, 6, 8, 9}),
    "straight_strokes": frozenset({1, 4, 7}),
}

_TEST_SHARE = 1 / 3


def load_digits_properties(split: str | None = None) -> MultiLabelDataset:
    """Load handwritten digits with properties of the digit as labels.

    Each sample is an image of 8 times 8 pixels with intensities 0 to 16. The labels:

    ================= ==================================================
    even              0 2 4 6 8
    prime             2 3 5 7
    at_least_5        5 6 7 8 9
    multiple_of_3     0 3 6 9
    perfect_square    0 1 4 9
    closed_loop       0 6 8 9: usually drawn with a closed loop
    straight_strokes  1 4 7: usually drawn with straight strokes only
    ================= ==================================================

    Parameters
    ----------
    split : {None, "train", "test"}
        None for all 1797 samples; "train" for 1198 samples and "test" for the other 599. The split
        is fixed and stratified by digit.

    Returns
    -------
    MultiLabelDataset
        64 numeric features, 7 labels, cardinality 2.9.

    Raises
    ------
    ValueError
        For another `split`.

    Examples
    --------
    >>> train = load_digits_properties("train")
    >>> train.X.shape, train.Y.shape
    ((1198, 64), (1198, 7))
    >>> [name for name, has in zip(train.label_names, train.Y[0], strict=True) if has]
    ['even', 'multiple_of_3', 'perfect_square', 'closed_loop']
    """
    if split not in (None, "train", "test"):
        raise ValueError(f"split is {split!r}; expected None, 'train' or 'test'")
    digits = load_digits()
    Y = np.column_stack([np.isin(digits.target, list(p)) for p in DIGIT_PROPERTIES.values()])
    n_features = digits.data.shape[1]
    dataset = MultiLabelDataset(
        X=np.ascontiguousarray(digits.data),
        Y=Y.astype(np.int8),
        feature_names=tuple(digits.feature_names),
        feature_types=("numeric",) * n_features,
        categories=(None,) * n_features,
        label_names=tuple(DIGIT_PROPERTIES),
        name="digits",
    )
    if split is None:
        return dataset
    train, test = train_test_split(
        np.arange(dataset.n_samples), test_size=_TEST_SHARE, stratify=digits.target, random_state=0
    )
    return dataset[np.sort(train if split == "train" else test)]
