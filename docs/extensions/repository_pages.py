"""Adds files of the repository to the site as pages, and adapts the links between them.

Links are written for readers of the repository. If a link leads from `docs` to a file that has a
page on the site, it is replaced by a link to that page.
"""

import os
import re
from functools import cache
from pathlib import Path

DOCS = Path(__file__).parents[1]
REPOSITORY = DOCS.parent

PAGES = {
    "CHANGELOG.md": "changelog",
    "CONTRIBUTING.md": "contributing",
    "SECURITY.md": "security",
    "third_party/xgboost/README.md": "patches",
}
"""File of the repository → name of its page in `docs/made`."""

_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[((?:[^\[\]`]|`[^`]*`)*)\]\(([^)\s]+)\)")


@cache
def pages():
    """Return the files that have a page, each with the name of its page.

    These are the files in `PAGES` and the reports of the experiments, whose names are in capitals.
    """
    found = [(REPOSITORY / file, page) for file, page in PAGES.items()]
    experiments = REPOSITORY / "experiments"
    for file in sorted(experiments.rglob("*.md")):
        name = file.relative_to(experiments).with_suffix("")
        if file.stem.isupper() and "reports" not in name.parts:
            found.append((file, f"experiments/{name.as_posix()}"))
    return found


def _parts(content):
    """Split a page into text and code fences, alternating, starting with text."""
    return _FENCE.split(content)


def link_on_site(text, target, source, page):
    """Convert a link in a file of the repository to a link on the site.

    Parameters
    ----------
    text, target : str
        Text and target of the link.
    source : Path
        File that contains the link.
    page : Path
        Page below `docs` that will contain it.

    Returns
    -------
    str
        The link, or its text alone if the site does not have the target.
    """
    path, _, anchor = target.partition("#")
    if "://" in target or not path:
        return f"[{text}]({target})"
    file = (source.parent / path).resolve()
    anchor = f"#{anchor}" if anchor else ""
    for shown, name in pages():
        if file == shown:
            return f"[{text}](/made/{name}.md{anchor})"
    if file.parent == DOCS / "gallery":
        return f"[{text}](/made/gallery/{file.stem}.rst)"
    if file.is_dir():
        return text
    return f"[{text}]({os.path.relpath(file, page.parent)}{anchor})"


def _with_links_of_site(content, source, page):
    parts = _parts(content)
    parts[::2] = [
        _LINK.sub(lambda link: link_on_site(link[1], link[2], source, page), part)
        for part in parts[::2]
    ]
    return "".join(parts)


def _with_one_title(content, source):
    """Add a title to a report that has several top-level headings, and lower the headings."""
    parts = _parts(content)
    if sum(len(re.findall(r"^# ", part, re.MULTILINE)) for part in parts[::2]) == 1:
        return content
    parts[::2] = [re.sub(r"^#", "##", part, flags=re.MULTILINE) for part in parts[::2]]
    return f"# Report: {source.parent.name}\n\n" + "".join(parts)


def _write_pages(app):
    for source, name in pages():
        page = DOCS / "made" / f"{name}.md"
        content = _with_links_of_site(source.read_text("utf-8"), source, page)
        content = _with_one_title(content, source)
        page.parent.mkdir(parents=True, exist_ok=True)
        if not page.exists() or page.read_text("utf-8") != content:
            page.write_text(content, "utf-8")


def _read(app, docname, content):
    page = DOCS / f"{docname}.md"
    if not docname.startswith("made/") and page.exists():
        content[0] = _with_links_of_site(content[0], page, page)


def setup(app):
    """Write the generated pages before Sphinx collects pages, and adapt the links of the others."""
    app.connect("builder-inited", _write_pages)
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
