"""`load_dataset`: find or download a data set by name.

`load_dataset` searches in this order:

1. ``digits`` comes with scikit-learn (see `embedded`) and needs no file.
2. The folder ``XDCC_DATA``, if this environment variable is set. It is only read.
3. The data home: ``XDCC_DATA_HOME``, or ``xdcc_data`` in the home directory of the user.

These have a folder for each data set, with ``<name>-train.arff`` and ``<name>-test.arff`` or one
``<name>.arff``, and Mulan's ``<name>.xml`` (except for slashdot, a MEKA file). Missing files are
downloaded into the data home (`published`). A file gets its final name when it is complete and its
SHA-256 is correct, so interrupted downloads can be repeated, and several processes can download at
once.

The dimensions of a data set are compared with those in the literature (`DATASETS`), and its content
with that of the published files (`published`). `load_arff` reads files of any version.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pooch

from xdcc.data import published
from xdcc.data.arff import load_arff
from xdcc.data.dataset import MultiLabelDataset, concatenate
from xdcc.data.embedded import load_digits_properties
from xdcc.data.published import content_digest

type Split = Literal["train", "test"] | None


@dataclass(frozen=True)
class DatasetInfo:
    """Dimensions and format of a data set; without a split, `n_test` is 0."""

    n_train: int
    n_test: int
    n_features: int
    n_labels: int
    has_xml: bool = True  # whether an XML file names the labels, not MEKA's option
    identifiers: tuple[str, ...] = ()  # attributes that only identify rows and are dropped


DATASETS: dict[str, DatasetInfo] = {
    "emotions": DatasetInfo(391, 202, 72, 6),
    "flags": DatasetInfo(129, 65, 19, 7),
    "scene": DatasetInfo(1211, 1196, 294, 6),
    "yeast": DatasetInfo(1500, 917, 103, 14),
    "birds": DatasetInfo(322, 323, 260, 19),
    "tmc2007-500": DatasetInfo(21519, 7077, 500, 22),
    "genbase": DatasetInfo(463, 199, 1185, 27, identifiers=("protein",)),
    "medical": DatasetInfo(333, 645, 1449, 45),
    "enron": DatasetInfo(1123, 579, 1001, 53),
    "bibtex": DatasetInfo(4880, 2515, 1836, 159),
    "cal500": DatasetInfo(502, 0, 68, 174),
    "corel5k": DatasetInfo(4500, 500, 499, 374),
    "delicious": DatasetInfo(12920, 3185, 500, 983),
    "slashdot": DatasetInfo(3782, 0, 1079, 22, has_xml=False),
    "langlog": DatasetInfo(1460, 0, 1004, 75),
    "image": DatasetInfo(1501, 499, 294, 5),
    "rcv1-subset1": DatasetInfo(6000, 0, 19550, 101),
}

_EMBEDDED = "digits"


def dataset_names() -> list[str]:
    """Return the names of the known data sets; the first one needs neither files nor a network.

    Examples
    --------
    >>> "emotions" in dataset_names()
    True
    """
    return [_EMBEDDED, *DATASETS]


def load_dataset(name: str, split: Split = None) -> MultiLabelDataset:
    """Load a data set by its name.

    Parameters
    ----------
    name : str
        One of `dataset_names`; not case-sensitive.
    split : {None, "train", "test"}
        The part of a data set that is published with a split; None for the training rows followed
        by the test rows.

    Returns
    -------
    MultiLabelDataset

    Raises
    ------
    ValueError
        For an unknown name or split, for a data set without a split, and if the files are another
        version of the data set.
    ArffError
        If a file is malformed.
    FileNotFoundError
        If files are missing in a folder of ``XDCC_DATA``, or cannot be downloaded.

    Examples
    --------
    >>> test = load_dataset("digits", "test")
    >>> test.X.shape, test.Y.shape
    ((599, 64), (599, 7))
    """
    name = name.lower()
    if split not in (None, "train", "test"):
        raise ValueError(f"split is {split!r}; expected None, 'train' or 'test'")
    if name == _EMBEDDED:
        return load_digits_properties(split)
    info = DATASETS.get(name)
    if info is None:
        raise ValueError(f"unknown data set {name!r}; expected one of {', '.join(dataset_names())}")
    if split is not None and not info.n_test:
        raise ValueError(f"{name} has no split {split!r}; load it with split=None")
    files = _files(name, info, split)
    folder = _folder(name, files)
    parts = _load_parts(name, info, folder, files)
    dataset = concatenate(*parts.values()) if len(parts) > 1 else next(iter(parts.values()))
    _check_dimensions(dataset, info, split, folder)
    for file, part in parts.items():
        _check_content(content_digest(part), published.CONTENT[file], folder / file)
    return dataset


def _roots() -> list[Path]:
    """Return the folders to search, the data home last."""
    roots = []
    if from_environment := os.environ.get("XDCC_DATA"):
        root = Path(from_environment)
        if not root.is_dir():
            raise FileNotFoundError(f"XDCC_DATA is {from_environment}, which is not a folder")
        roots.append(root)
    return [*roots, Path(os.environ.get("XDCC_DATA_HOME") or "~/xdcc_data").expanduser()]


def _files(name: str, info: DatasetInfo, split: Split) -> list[str]:
    """Return the names of the ARFF files of a split and of the XML file, if any."""
    parts = [split] if split else ["train", "test"] if info.n_test else []
    arff = [f"{name}-{part}.arff" for part in parts] or [f"{name}.arff"]
    return [*arff, f"{name}.xml"] if info.has_xml else arff


def _folder(name: str, files: list[str]) -> Path:
    """Return the folder of the files; download missing files to the data home."""
    folders = [root / name for root in _roots()]
    home = folders[-1]
    folder = next((folder for folder in folders if folder.is_dir()), home)
    missing = [file for file in files if not (folder / file).is_file()]
    if missing:
        lacks = f"{folder} lacks {' and '.join(missing)}"
        if folder != home:
            raise FileNotFoundError(lacks)
        remedy = (
            f"provide {' and '.join(missing)} in {' or '.join(map(str, folders))} "
            "(see XDCC_DATA and XDCC_DATA_HOME)"
        )
        if name in published.CONVERTED:
            raise FileNotFoundError(
                f"{lacks}, for which there is no download (converted from "
                f"{published.CONVERTED[name]}); {remedy}"
            )
        _download(missing, home, lacks, remedy)
    return folder


def _download(files: list[str], folder: Path, lacks: str, remedy: str) -> None:
    for file in files:
        url, sha256 = published.URLS[file], published.SHA256[file]
        try:
            pooch.retrieve(url, known_hash=f"sha256:{sha256}", fname=file, path=folder)
        except OSError as error:
            sources = ", ".join(published.URLS[file] for file in files)
            raise FileNotFoundError(
                f"{lacks}, and {file} cannot be downloaded ({_first_of(error)}). "
                f"Try again, or {remedy}; sources: {sources}"
            ) from None
        except ValueError as error:
            raise ValueError(
                f"{url} is not the published file with the SHA-256 {sha256}; the download was "
                "discarded"
            ) from error


def _first_of(error: BaseException) -> BaseException:
    """Return the original error of a chain; the later messages repeat the address."""
    while error.__context__ is not None:
        error = error.__context__
    return error


def _load_parts(
    name: str, info: DatasetInfo, folder: Path, files: list[str]
) -> dict[str, MultiLabelDataset]:
    """Load the ARFF files."""
    xml = folder / f"{name}.xml" if info.has_xml else None
    return {
        file: replace(load_arff(folder / file, xml), name=name).drop_features(info.identifiers)
        for file in files
        if file.endswith(".arff")
    }


def _check_dimensions(
    dataset: MultiLabelDataset, info: DatasetInfo, split: Split, source: Path
) -> None:
    """Compare the dimensions with those in `DATASETS`."""
    n_samples = {"train": info.n_train, "test": info.n_test, None: info.n_train + info.n_test}
    expected = n_samples[split], info.n_features, info.n_labels
    found = dataset.n_samples, dataset.n_features, dataset.n_labels
    if found != expected:
        raise ValueError(
            f"{source} has {found[0]} samples, {found[1]} features and {found[2]} labels; "
            f"{dataset.name} has {expected[0]}, {expected[1]} and {expected[2]}: this is another "
            "version of the data set"
        )


def _check_content(found: str, expected: str, source: Path) -> None:
    if found != expected:
        raise ValueError(
            f"the content of {source} is not the published one, although its dimensions match "
            f"(SHA-256 {found}; expected {expected}): this is another version, or it was modified. "
            "Use xdcc.data.load_arff to read files of any version"
        )
