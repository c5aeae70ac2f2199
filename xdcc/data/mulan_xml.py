"""The XML file that names the labels of a Mulan data set.

`read_label_names` collects the ``name`` of each ``<label>``, in the document's order; in a
hierarchy of labels the inner labels count as the others do. The parser is expat from the standard
library, used directly because it knows the line and column of every element.
"""

from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from xdcc.data.arff_text import ArffError


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
