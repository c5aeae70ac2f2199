"""Reader of multi-label data sets in the formats of Mulan and MEKA.

Both projects store features and labels as attributes of one ARFF file. Mulan names the labels in
an XML file. MEKA states the number of labels in the name of the relation: ``-C 6`` means that the
first six attributes are labels, ``-C -6`` the last six. `load_arff` reads both:

1. `arff_text` splits the file into lines, words and cells, and reads the declarations.
2. Mulan's XML, MEKA's option or the caller determine the labels. `read_label_names` collects the
   ``name`` of each ``<label>`` in document order, including inner labels of a hierarchy. It uses
   expat from the standard library directly, which provides the line and column of each element.
3. `arff_rows` converts the rows to numbers; `load_arff` splits the columns into features and
   labels.

Existing readers do not suffice. scipy.io.arff does not support sparse rows, and pandas does not
read ARFF. liac-arff (2.5.0 of 2020, of which scikit-learn has a private copy) rejects comments
after the name of the relation (as in the slashdot data) and after rows, instance weights, dates,
and categories directly after a name. It accepts repeated and descending sparse indices, ``nan``,
``inf``, ``1_0`` and files without rows. Its errors name a line, but neither file nor column.
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
    """Name of a label and its position in the XML file (line and column from 1)."""

    name: str
    line: int
    column: int


def read_label_names(path: Path) -> list[LabelName]:
    """Read the names of the labels from Mulan's XML: ``<labels>`` with ``<label name="...">``.

    Raises ArffError for malformed XML, another root element, a label without a name, a repeated
    name, and a file without labels.

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
            raise here("a <label> has no attribute 'name'")
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
    except (LookupError, ValueError, Warning) as error:  # raised by codecs and by expat
        raise here(f"the XML declares an encoding that cannot be read: {error}") from error
    if not names:
        raise ArffError("the XML contains no <label>", path, 1, 1)
    return list(names.values())


# Nine digits suffice: such a number is larger than any number of attributes.
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
        Mulan's XML file with the names of the labels. The columns of `Y` are in its order.
    n_labels : int, optional
        The last `n_labels` attributes are the labels, or the first ``-n_labels`` if it is negative.
        Without `xml` and `n_labels`, MEKA's option ``-C`` in the name of the relation determines
        the labels.
    max_label_bytes : int
        Maximum size of `Y` for sparse rows, where a small file can require a large array.

    Returns
    -------
    MultiLabelDataset
        `X` is a CSR array if the rows are sparse. An absent entry of a sparse row is 0 (the first
        category of a nominal attribute), ``?`` is missing. Nominal features are encoded as the
        index of the category in the order of the file. Strings and dates are dropped and listed in
        `dropped`.

    Raises
    ------
    ArffError
        If the ARFF file or the XML is malformed, with file, line and column; if the XML names a
        label that the ARFF file does not have; if the labels are not specified, or if all
        attributes are labels or none is; if `Y` would be larger than `max_label_bytes`.
    ValueError
        If both `xml` and `n_labels` are given, or if `n_labels` is 0.
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
        raise ValueError("pass either xml or n_labels, not both: each determines the labels")
    if n_labels == 0:
        raise ValueError("n_labels is 0; expected n for the last n attributes, -n for the first n")
    lines = read_lines(Path(path))
    header, rows = read_header(lines)
    if not rows:
        raise lines[-1].error("no rows after @data: the file is truncated")
    labels = _labels_by_xml(header, Path(xml)) if xml else _labels_by_count(header, n_labels)
    is_label = set(labels)
    kept = [
        i
        for i, attribute in enumerate(header.attributes)
        if i not in is_label and attribute.kind in ("numeric", "nominal")
    ]
    if not kept:
        raise header.line.error("there are no features: all attributes are labels or dropped")

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
    """Create a dense array of labels, with the values `absent` for entries that are not stored."""
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
            problem = f"the label {label.name!r} is not an attribute of {header.line.path}{hint}"
            raise ArffError(problem, xml, label.line, label.column)
        labels.append(positions[label.name])
    return labels


def _folded(name: str) -> str:
    """Return the letters and digits of a name in lower case."""
    return "".join(filter(str.isalnum, name)).lower()


def _labels_by_count(header: Header, n_labels: int | None) -> list[int]:
    n_attributes = len(header.attributes)
    if n_labels is None:
        option = _MEKA_OPTION.search(header.relation)
        if option is None:
            raise header.line.error(
                "cannot determine the labels: the name of the relation has no option -C (as in "
                "MEKA's files); pass xml or n_labels"
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
    """Return the name of the relation without MEKA's options."""
    option = _MEKA_OPTION.search(relation)
    return relation[: option.start()].rstrip(" :") if option else relation
