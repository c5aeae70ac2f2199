"""Reader of multi-label data sets in Mulan's and MEKA's files.

Both projects keep features and labels as attributes of one ARFF file. Mulan names the labels in
an XML beside it; MEKA says in the relation's name how many of the first or last attributes are
labels (``-C 6`` the first six, ``-C -6`` the last six). `load_arff` reads either:

1. `arff_text` cuts the file into lines, words and cells, and reads the declarations.
2. Mulan's XML, MEKA's option or the caller says which attributes are the labels.
   `read_label_names` collects the ``name`` of each ``<label>``, in the document's order; in a
   hierarchy of labels the inner labels count as the others do. The parser is expat from the
   standard library, used directly because it knows the line and column of every element.
3. `arff_rows` turns the rows into numbers; `load_arff` sorts the columns into features and labels.

The reader is our own because none of the existing ones does the work. scipy.io.arff has no sparse
rows, and pandas reads no ARFF. liac-arff (2.5.0, of 2020; scikit-learn keeps a private copy)
refuses a comment behind the relation's name, which the slashdot data have, comments behind rows,
instance weights, dates, and a list of categories right behind a name; it accepts repeated and
descending sparse indices, ``nan``, ``inf``, ``1_0`` and a file without rows; and its errors name
a line, but no file and no column.
"""

import re
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.data.arff_rows import AttributeReader, read_dense, read_sparse
from xdcc.data.arff_text import ArffError, Header, read_header, read_lines
from xdcc.data.dataset import Features, Labels, MultiLabelDataset, as_labels


class LabelName(NamedTuple):
    """A label's name and the place where the XML has it (line and column counted from 1)."""

    name: str
    line: int
    column: int


def read_label_names(path: Path) -> list[LabelName]:
    """Read the names of the labels.

    Parameters
    ----------
    path : Path
        A Mulan XML: ``<labels>`` with nested ``<label name="...">``.

    Returns
    -------
    list of LabelName
        At least one, without duplicates.

    Raises
    ------
    ArffError
        For malformed XML, another root element, a label without or with a repeated name, and a
        file without labels.

    Examples
    --------
    >>> _ = Path("colours.xml").write_text('<labels><label name="red"></label></labels>')
    >>> read_label_names(Path("colours.xml"))
    [LabelName(name='red', line=1, column=9)]
    """
    names: dict[str, LabelName] = {}
    parser = expat.ParserCreate(namespace_separator=" ")
    root_seen = False

    def here(problem: str) -> ArffError:
        return ArffError(problem, path, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)

    def start_element(tag: str, attributes: dict[str, str]) -> None:
        nonlocal root_seen
        element = tag.rpartition(" ")[2]
        if not root_seen and element != "labels":
            raise here(f"expected the root element <labels> of a Mulan label file, not <{element}>")
        root_seen = True
        if element != "label":
            return
        name = attributes.get("name")
        if name is None:
            raise here("a <label> without the attribute 'name'")
        if name in names:
            raise here(f"the label {name!r} is already named in line {names[name].line}")
        names[name] = LabelName(name, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)

    parser.StartElementHandler = start_element
    try:
        parser.Parse(path.read_bytes(), True)
    except expat.ExpatError as error:
        problem = f"malformed XML: {expat.ErrorString(error.code)}"
        raise ArffError(problem, path, error.lineno, error.offset + 1) from error
    except ArffError:
        raise
    except (LookupError, ValueError, Warning) as error:  # as codecs fail, and expat's use of them
        raise here(f"the XML declares an encoding that cannot be read: {error}") from error
    if not names:
        raise ArffError("the XML names no label", path, 1, 1)
    return list(names.values())


# Of a number with more digits the first nine are too many labels as well.
_MEKA_OPTION = re.compile(r"(?:^|[\s:])-C\s+(-?)0*([0-9]{1,9})")


def load_arff(
    path: str | Path,
    xml: str | Path | None = None,
    n_labels: int | None = None,
    *,
    max_label_bytes: int = 2**30,
) -> MultiLabelDataset:
    """Read a multi-label data set from an ARFF file.

    Parameters
    ----------
    path : str or Path
        The ARFF file, dense or sparse, in UTF-8 or Latin-1.
    xml : str or Path, optional
        Mulan's XML, which names the labels. They come in its order, wherever they stand among
        the attributes.
    n_labels : int, optional
        Without an XML: the last `n_labels` attributes are the labels, or the first
        ``-n_labels`` if it is negative, whatever the relation's name says. Without both, MEKA's
        option ``-C`` in the relation's name decides.
    max_label_bytes : int
        The largest `Y` to make of sparse rows, which say nothing of most labels: a small file can
        ask for a large array.

    Returns
    -------
    MultiLabelDataset
        `X` is a CSR array if the rows are sparse. An absent entry of a sparse row is 0 (the first
        category of a nominal attribute), ``?`` is missing. Nominal features become the index of
        the category in the file's order. Strings and dates are left out and listed in `dropped`.

    Raises
    ------
    ArffError
        If the ARFF file or the XML is malformed, with file, line and column; if the XML names a
        label that the ARFF file lacks; if nothing says which attributes are labels, or these are
        all or none of them; if `Y` would be larger than `max_label_bytes`.
    ValueError
        If both `xml` and `n_labels` are given, or `n_labels` is 0.
    FileNotFoundError
        If a file does not exist.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("colours.arff").write_text('''@relation "colours: -C 1"
    ... @attribute red {0,1}
    ... @attribute x numeric
    ... @data
    ... 1,0.5
    ... 0,?
    ... ''')
    >>> data = load_arff("colours.arff")
    >>> data.Y.tolist(), data.label_names, data.X.tolist()
    ([[1], [0]], ('red',), [[0.5], [nan]])
    """
    if xml is not None and n_labels is not None:
        raise ValueError("give xml or n_labels, not both: each says which attributes are labels")
    if n_labels == 0:
        raise ValueError("n_labels is 0; expected n for the last n attributes, -n for the first n")
    lines = read_lines(Path(path))
    header, rows = read_header(lines)
    if not rows:
        raise lines[-1].error("no rows behind @data: the file is truncated")
    labels = _labels_by_xml(header, Path(xml)) if xml else _labels_by_count(header, n_labels)
    is_label = set(labels)
    kept = [
        i
        for i, attribute in enumerate(header.attributes)
        if i not in is_label and attribute.kind in ("numeric", "nominal")
    ]
    if not kept:
        raise header.line.error("no attribute is left as a feature")

    readers = [AttributeReader(a, i in is_label) for i, a in enumerate(header.attributes)]
    X: Features
    Y: Labels
    if rows[0].text.lstrip().startswith("{"):
        entries, weights = read_sparse(rows, readers)
        absent = np.array([readers[i].absent for i in labels])
        Y = _dense_labels(entries[:, labels], absent, header, max_label_bytes)
        X = entries[:, kept]
        X.eliminate_zeros()
    else:
        matrix, weights = read_dense(rows, readers)
        Y = as_labels(matrix[:, labels])
        X = np.ascontiguousarray(matrix[:, kept])
    features = [header.attributes[i] for i in kept]
    return MultiLabelDataset(
        X=X,
        Y=Y,
        feature_names=tuple(a.name for a in features),
        feature_types=tuple("nominal" if a.categories else "numeric" for a in features),
        categories=tuple(a.categories or None for a in features),
        label_names=tuple(header.attributes[i].name for i in labels),
        name=_name(header.relation) or Path(path).stem,
        dropped=tuple(a.name for a in header.attributes if a.kind in ("string", "date")),
        sample_weight=weights if (weights != 1).any() else None,
    )


def _dense_labels(
    entries: sparse.csr_array, absent: NDArray[np.float64], header: Header, max_bytes: int
) -> Labels:
    """Make an array of labels; one that a row does not store is what its absence stands for."""
    dtype = np.dtype(np.float64 if np.isnan(entries.data).any() else np.int8)
    n_bytes = entries.shape[0] * entries.shape[1] * dtype.itemsize
    if n_bytes > max_bytes:
        raise header.line.error(
            f"Y would take {n_bytes} bytes, {entries.shape[0]} rows of {entries.shape[1]} labels; "
            f"max_label_bytes is {max_bytes}"
        )
    Y = np.empty(entries.shape, dtype)
    Y[:] = absent
    stored = entries.tocoo()
    Y[stored.row, stored.col] = stored.data
    return Y


def _labels_by_xml(header: Header, xml: Path) -> list[int]:
    positions = {attribute.name: i for i, attribute in enumerate(header.attributes)}
    labels = []
    for label in read_label_names(xml):
        if label.name not in positions:
            folded = _folded(label.name)
            close = next((name for name in positions if _folded(name) == folded), None)
            hint = "" if close is None else f" (which has {close!r})"
            problem = f"the label {label.name!r} is no attribute of {header.line.path}{hint}"
            raise ArffError(problem, xml, label.line, label.column)
        labels.append(positions[label.name])
    return labels


def _folded(name: str) -> str:
    """Return the letters and digits of a name, in lower case."""
    return "".join(filter(str.isalnum, name)).lower()


def _labels_by_count(header: Header, n_labels: int | None) -> list[int]:
    n_attributes = len(header.attributes)
    if n_labels is None:
        option = _MEKA_OPTION.search(header.relation)
        if option is None:
            raise header.line.error(
                "nothing says which attributes are labels: the relation's name has no option -C "
                "(as MEKA's files have); pass xml or n_labels"
            )
        n_labels = -int(option[1] + option[2])
    if not 0 < abs(n_labels) <= n_attributes:
        raise header.line.error(
            f"the number of labels is {abs(n_labels)}; expected 1 to {n_attributes}, the number "
            "of attributes"
        )
    labels = list(range(n_attributes))
    return labels[-n_labels:] if n_labels > 0 else labels[:-n_labels]


def _name(relation: str) -> str:
    """Return the relation's name without MEKA's options."""
    option = _MEKA_OPTION.search(relation)
    return relation[: option.start()].rstrip(" :") if option else relation
