"""Short SVG files show the picture of the long ones."""

import io
import re
from xml.etree import ElementTree

import numpy as np
from matplotlib import pyplot as plt

from experiments.report.svg import shortened

NUMBER = re.compile(r"-?\d*\.?\d+(?:e-\d+)?")


def drawn():
    figure, ax = plt.subplots()
    for k in range(3):
        ax.plot([0, 1, 2], [0.123456789, k, 1], "o-", label=f"−{k}")
        ax.fill_between([0, 1, 2], k, k + 0.5, alpha=0.2)
    ax.imshow([[0, 1], [1, 0]])
    ax.grid()
    ax.legend()
    ax.set_title("first\nsecond", weight="bold")
    ax.set_xlabel("$x^2$")
    ax.set_ylabel("upright")
    text = io.StringIO()
    with plt.rc_context({"svg.hashsalt": "x", "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    plt.close(figure)
    return text.getvalue()


def numbers(element):
    """The positions of an element other than a path."""
    text = " ".join(element.get(name, "") for name in ("x", "y", "width", "height"))
    return [float(number) for number in NUMBER.findall(text)]


def absolute(path):
    """Return the coordinates of a path, whether its commands are absolute or relative."""
    at, found = [0.0, 0.0], []
    for command, text in re.findall(r"([A-Za-z])([^A-Za-z]*)", path):
        steps = [float(number) for number in NUMBER.findall(text)]
        axes = {"h": [0], "v": [1]}.get(command, [0, 1])
        pairs = {"q": 2, "c": 3}.get(command, 1)  # relative to the same place
        for start in range(0, len(steps), pairs * len(axes)):
            origin = [0.0, 0.0] if command.isupper() else at
            for k in range(start, start + pairs * len(axes), len(axes)):
                at = list(origin if command.islower() else at)
                for axis, step in zip(axes, steps[k:], strict=False):
                    at[axis] = origin[axis] + step
                found += at
    return found


def kind(element):
    return element.tag.rpartition("}")[2]


def placed(element, targets, x=0.0, y=0.0):
    """The paths that an element draws at a place, with the marks of a curve."""
    if kind(element) == "path":
        for part in re.findall("M[^M]*", element.get("d", "")):
            points = [n + (y if k % 2 else x) for k, n in enumerate(absolute(part))]
            yield "path", *points
            marker = re.search(r"marker:url\(#(m\d+)\)", element.get("style", ""))
            for k in range(0, len(points) if marker else 0, 2):
                for mark in targets[marker[1]]:
                    yield from placed(mark, targets, *points[k : k + 2])
    elif kind(element) == "use":
        own = [float(element.get(axis, 0)) for axis in "xy"]
        yield from placed(targets[target(element)], targets, x + own[0], y + own[1])


def target(element):
    href = element.get("{http://www.w3.org/1999/xlink}href", element.get("href", ""))
    return href.removeprefix("#")


def elements(root):
    """All elements but definitions of marks."""
    if not root.get("id", "").startswith("m") or kind(root) == "g":
        yield root
        for child in root:
            yield from elements(child)


def shapes(text):
    """The kind and place of each element that is drawn; a path counts by its parts."""
    found = []
    root = ElementTree.fromstring(text)
    targets = {element.get("id"): element for element in root.iter()}
    for element in elements(root):
        tag = kind(element)
        if tag in ("path", "use"):
            found += placed(element, targets)
        elif tag in ("rect", "image"):
            found.append((tag, *numbers(element)))
    return found


def is_close(one, other):
    """Whether two shapes are the same on their grids."""
    alike = one[0] == other[0] and len(one) == len(other)
    return alike and np.allclose(one[1:], other[1:], rtol=0, atol=0.051)


def texts(text):
    """The content, place and turn of each text, and those of its parts."""
    found = []
    for element in ElementTree.fromstring(text).iter():
        if kind(element) not in ("text", "tspan"):
            continue
        place = [float(element.get(axis, 0)) for axis in "xy"]
        transform = element.get("transform", "")
        turn = float(NUMBER.findall(transform)[0]) if "rotate" in transform else 0
        if "translate" in transform:
            place = [float(number) for number in NUMBER.findall(transform)]
        found.append(((element.text or "").strip(), turn, *place))
    return found


def test_the_same_shapes_at_the_same_places():
    long = drawn()
    short = shortened(long)
    assert len(short) < 0.4 * len(long)
    before, after = shapes(long), shapes(short)
    assert len(before) == len(after) > 50
    for one in before:
        after.remove(next(other for other in after if is_close(one, other)))


def test_the_same_texts_at_the_same_places():
    long = drawn()
    short = shortened(long)
    before, after = texts(long), texts(short)
    assert {"−0", "upright", "x", "2"} <= {text for text, *_ in before}
    assert [text for text, *_ in before] == [text for text, *_ in after]
    np.testing.assert_allclose(
        [place for _, *place in before], [place for _, *place in after], atol=0.0051
    )
    assert {turn for _, turn, *_ in after} == {0, -90}
    for style in ("font-weight:700", "font-size:10px", "text-anchor:middle"):
        assert long.count(style.replace(":", ": ")) == short.count(style) > 0
    assert short.count("font-family") == 1


def test_names_do_not_depend_on_the_numbers():
    names = re.findall(r'id="([mp]\d+)"', shortened(drawn()))
    assert len(names) > 5
    assert len({*names}) == len(names)


def test_every_reference_has_its_target():
    text = shortened(drawn())
    targets = {element.get("id") for element in ElementTree.fromstring(text).iter()}
    assert set(re.findall(r'(?:href="|url\()#([^")]+)', text)) <= targets
    assert shortened(text) == text


def test_styles_stay():
    marks = "".join(f'<use xmlns:l="http://www.w3.org/1999/xlink" l:href="#m" x="{k}" '
                    'style="fill: red"/>' for k in range(2))  # fmt: skip
    text = (
        '<svg xmlns="http://www.w3.org/2000/svg"><defs><path id="m" d="M 0 0" style="fill: red"/>'
        f'</defs><g clip-path="url(#c)">{marks.replace("red", "blue")}</g><g>{marks}</g></svg>'
    )
    lines = shortened(text).splitlines()
    assert '<g clip-path="url(#c)" style="fill:blue">' in lines
    assert lines.count('<use x="0" href="#m"/>') == 2, "one inherits, the other has its marker's"
