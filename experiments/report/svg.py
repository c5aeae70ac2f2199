"""Shortens SVG files of Matplotlib: the same picture in about a third of the bytes.

Matplotlib writes absolute coordinates with six decimals, names every group and repeats the fonts of
every text. Here coordinates are on a grid, so that a difference in the last digits of a number
changes no figure: a tenth of a point for paths that are drawn once, a hundredth for marks, hatches
and other elements. Coordinates of paths are relative. A curve draws the marks at its points, and an
axis is one path of its grid and one of its tick marks.

Texts stay texts, in Matplotlib's font or, where it is missing, one of about the same width.
"""

import itertools
import re
from collections import Counter
from xml.etree import ElementTree

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_NAME = re.compile(r"(?<=[\"#])[mp][0-9a-f]{10}(?=[\")])")  # of markers and clip paths
_PATH = re.compile(r"[A-Za-z]|-?(?:\d+\.?\d*|\.\d+)")
_PAIRS = {"M": 1, "L": 1, "Q": 2, "C": 3}  # pairs of coordinates of a path's commands
_FONTS = "DejaVu Sans,Verdana,sans-serif"
_TURN = re.compile(r"rotate\((\S+) \S+ \S+\)")
_PLACE = re.compile(r"translate\((\S+) (\S+)\)")
_LINE = 6  # tokens of a path that is one straight line


def shortened(text: str) -> str:
    r"""Return an SVG file with one element per line, short numbers, and no idle groups and names.

    Examples
    --------
    >>> print(shortened(
    ...     '<svg xmlns="http://www.w3.org/2000/svg"><metadata/><g id="axes_1"><g id="line_1">'
    ...     '<path d="M 0.123456 1 \nL 2.000001 3 \n" style="fill: none"/></g></g></svg>'
    ... ))
    <svg xmlns="http://www.w3.org/2000/svg" font-family="DejaVu Sans,Verdana,sans-serif">
    <path d="M.1 1l1.9 2" style="fill:none"/>
    </svg>
    <BLANKLINE>
    """
    names: dict[str, str] = {}
    text = _NAME.sub(lambda name: names.setdefault(name[0], f"{name[0][0]}{len(names)}"), text)
    root = ElementTree.fromstring(text)
    for metadata in root.findall(f"{{{_SVG}}}metadata"):
        root.remove(metadata)
    _mark_curves(root, len(names))
    _place_marks(root)
    _join_axes(root)
    used = set(re.findall(r"#([\w-]+)", ElementTree.tostring(root, encoding="unicode")))
    root.set("font-family", _FONTS)
    for element in root.iter():
        _shorten(element, used)
    _unwrap(root)
    _share_styles(root)
    ElementTree.register_namespace("", _SVG)
    plain = ElementTree.tostring(root, encoding="unicode").replace(" />", "/>")
    return plain.replace("><", ">\n<") + "\n"


def _mark_curves(root: ElementTree.Element, n_names: int) -> None:
    """Let the path of a curve draw the marks at its points, as a marker of SVG."""
    markers: dict[tuple[str, str], str] = {}
    for group in list(root.iter(f"{{{_SVG}}}g")):
        drawn = [child for child in group if child.tag != f"{{{_SVG}}}defs"]
        kinds = {(_target(mark), mark.get("style", "")) for mark in drawn[-1]} if drawn else set()
        if len(drawn) != 2 or len(kinds) != 1 or not _are_at_points(*drawn):
            continue
        (kind,) = kinds
        name = markers.setdefault(kind, f"m{n_names + len(markers)}")
        group.remove(drawn[1])
        drawn[0].set("style", f"{drawn[0].get('style')}; marker: url(#{name})")
    defs = root.find(f"{{{_SVG}}}defs")
    for (mark, style), name in markers.items():
        assert defs is not None
        marker = ElementTree.SubElement(defs, f"{{{_SVG}}}marker", id=name)
        marker.attrib |= {"markerUnits": "userSpaceOnUse", "overflow": "visible"}
        ElementTree.SubElement(marker, f"{{{_SVG}}}use", {_XLINK: f"#{mark}", "style": style})


def _are_at_points(path: ElementTree.Element, marks: ElementTree.Element) -> bool:
    """Return whether there is a mark at each point of a path of straight lines, and no other."""
    tokens = _PATH.findall(path.get("d", ""))
    straight = [token for token in tokens if token.isalpha()] == ["M"] + ["L"] * (len(marks) - 1)
    same_clip = path.get("clip-path") == marks.get("clip-path")
    if not (straight and same_clip and all(mark.tag == f"{{{_SVG}}}use" for mark in marks)):
        return False
    places = [mark.get(axis, "0") for mark in marks for axis in "xy"]
    return [float(token) for token in tokens if not token.isalpha()] == [*map(float, places)]


def _place_marks(root: ElementTree.Element) -> None:
    """Draw a mark that is a straight line, or is used once, as a path in its place."""
    uses = list(root.iter(f"{{{_SVG}}}use"))
    times = Counter(map(_target, uses))
    marks = {}
    for defs in root.iter(f"{{{_SVG}}}defs"):
        for path in defs.findall(f"{{{_SVG}}}path[@id]"):
            tokens = _PATH.findall(path.get("d", ""))
            once = times[path.get("id", "")] == 1 or len(tokens) == _LINE
            if path.get("id", "").startswith("m") and once:
                marks[path.get("id", "")] = path
                defs.remove(path)
    for use in uses:
        mark = marks.get(_target(use))
        if mark is None:
            continue
        x, y = (float(use.attrib.pop(axis, "0")) for axis in "xy")
        style = _properties(use) | _properties(mark)
        del use.attrib[_XLINK]
        use.tag = mark.tag
        use.set("d", _moved(mark.get("d", ""), x, y))
        use.set("style", "; ".join(f"{name}: {value}" for name, value in style.items()))


def _target(use: ElementTree.Element) -> str:
    return use.get(_XLINK, "").removeprefix("#")


def _properties(element: ElementTree.Element) -> dict[str, str]:
    """Return the properties of an element's style by their names."""
    parts = (part.partition(":") for part in element.get("style", "").split(";") if part.strip())
    return {name.strip(): value.strip() for name, _, value in parts}


def _moved(path: str, x: float, y: float) -> str:
    """Return a path of absolute coordinates, moved.

    Examples
    --------
    >>> _moved("M 0 0 L 0 3.5", 10, 20)
    'M 10.000000 20.000000 L 10.000000 23.500000'
    """
    steps = itertools.cycle((x, y))
    tokens = _PATH.findall(path)
    return " ".join(t if t.isalpha() else f"{float(t) + next(steps):.6f}" for t in tokens)


def _join_axes(root: ElementTree.Element) -> None:
    """Draw the grid of an axis as one path, and its tick marks; only labels are between them."""
    for axis in root.iter(f"{{{_SVG}}}g"):
        if not axis.get("id", "").startswith("matplotlib.axis_"):
            continue
        first: dict[tuple[str, str], ElementTree.Element] = {}
        for group in list(axis.iter(f"{{{_SVG}}}g")):
            for line in group.findall(f"{{{_SVG}}}path"):
                key = line.get("clip-path", ""), line.get("style", "")
                if key in first:
                    first[key].set("d", f"{first[key].get('d')} {line.get('d')}")
                    group.remove(line)
                else:
                    first[key] = line


def _shorten(element: ElementTree.Element, used: set[str]) -> None:
    attributes = element.attrib
    if attributes.get("id") not in used:
        attributes.pop("id", None)
    if _XLINK in attributes:
        attributes["href"] = attributes.pop(_XLINK)
    if element.tag == f"{{{_SVG}}}text":
        _place_text(element)
    for name, value in attributes.items():
        if name == "style":
            attributes[name] = _rounded(value).replace(": ", ":").replace("; ", ";")
        elif name == "d":
            # Paths that are drawn once are on a grid of a tenth of a point; marks are finer.
            attributes[name] = _relative(_rounded(value), 100 if "id" in attributes else 10)
        elif not name.startswith("{") and name not in ("clip-path", "href", "id"):
            attributes[name] = _rounded(value)
    element.text = element.text.strip(" \n") if element.text else None
    element.tail = None


def _place_text(text: ElementTree.Element) -> None:
    """Give a text its place by x and y, and leave out what is the default or the root's."""
    attributes = text.attrib
    if place := _PLACE.fullmatch(attributes.get("transform", "")):
        del attributes["transform"]
        attributes["x"], attributes["y"] = place.groups()
    turn = _TURN.fullmatch(attributes.get("transform", ""))
    if turn and float(turn[1]) == 0:
        del attributes["transform"]
    for element in text.iter():
        style = _properties(element)
        style.pop("font-family", None)
        if style.get("text-anchor") == "start":
            del style["text-anchor"]
        if style:
            element.set("style", "; ".join(f"{name}: {value}" for name, value in style.items()))


def _rounded(text: str) -> str:
    """Return a text with two decimals in each number; of small ones (scales) all."""

    def short(match: re.Match[str]) -> str:
        number = float(match[0])
        if 0 < abs(number) < 0.1:
            return f"{number:.6g}".replace("0.", ".", 1)
        plain = f"{number:.2f}".rstrip("0").rstrip(".")
        return "0" if plain == "-0" else re.sub(r"^(-?)0\.", r"\1.", plain)

    return _NUMBER.sub(short, text)


def _relative(path: str, per_point: int) -> str:
    """Return a path with relative coordinates on a grid, and without repeated commands.

    Examples
    --------
    >>> _relative("M 1 2 L 1 4 L 3.54 3 Q 4 3 4 2 z", per_point=10)
    'M1 2v2l2.5-1q.5 0 .5-1z'
    """
    tokens = iter(_PATH.findall(path))
    x = y = 0  # in steps of the grid, which sum up without an error
    before, parts = "", []
    for command in tokens:
        if command == "z":
            parts.append("z")
        elif command not in _PAIRS:
            return path  # relative already
        else:
            numbers = [round(per_point * float(next(tokens))) for _ in range(2 * _PAIRS[command])]
            steps = [n - (y if k % 2 else x) for k, n in enumerate(numbers)]
            x, y = numbers[-2:]
            if command == "M":
                text = "M" + _joined(numbers, per_point)
            elif command == "L" and 0 in steps:
                letter, step = ("v", steps[1]) if steps[0] == 0 else ("h", steps[0])
                text = letter + _joined([step], per_point)
            else:
                text = command.lower() + _joined(steps, per_point)
            if text[0] == before and command != "M":
                text = text[1:] if text[1] == "-" else " " + text[1:]
            parts.append(text)
        before = parts[-1][0] if parts[-1][0].isalpha() else before
    return "".join(parts)


def _joined(steps: list[int], per_point: int) -> str:
    numbers = (re.sub(r"^(-?)0\.", r"\1.", f"{step / per_point:.6g}") for step in steps)
    return " ".join(numbers).replace(" -", "-")


def _unwrap(element: ElementTree.Element) -> None:
    """Replace groups without attributes by their content, and remove empty definitions."""
    content: list[ElementTree.Element] = []
    for child in element:
        _unwrap(child)
        if child.tag == f"{{{_SVG}}}defs" and not len(child):
            continue
        content += list(child) if child.tag == f"{{{_SVG}}}g" and not child.attrib else [child]
    element[:] = content


def _share_styles(root: ElementTree.Element) -> None:
    """Remove styles that a marker's own repeats, and give a group the style that all in it have."""
    own = {element.get("id"): element.get("style") for element in root.iter()}
    for element in root.iter():
        style = element.get("style")
        if style is not None and style == own.get(element.get("href", "").removeprefix("#")):
            del element.attrib["style"]
        styles = {child.get("style") for child in element}
        if element.tag == f"{{{_SVG}}}g" and len(element) > 1 and len(styles) == 1:
            (shared,) = styles
            if shared is not None and "style" not in element.attrib:
                element.set("style", shared)
                for child in element:
                    del child.attrib["style"]
