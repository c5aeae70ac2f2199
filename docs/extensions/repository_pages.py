"""Files of the repository that are pages of the site as well, and the links between the two.

Pages are written so that their links work where the repository is read. What leads out of `docs`
to a file that is a page of the site leads to that page.
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
"""File of the repository: its page below `docs/made`."""

_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[((?:[^\[\]`]|`[^`]*`)*)\]\(([^)\s]+)\)")


@cache
def pages():
    """Find the files that have a page: the file, and the name of the page.

    Reports of the experiments are written in capitals; wherever they are, each has a page.
    """
    found = [(REPOSITORY / file, page) for file, page in PAGES.items()]
    experiments = REPOSITORY / "experiments"
    for file in sorted(experiments.rglob("*.md")):
        name = file.relative_to(experiments).with_suffix("")
        if file.stem.isupper() and "reports" not in name.parts:
            found.append((file, f"experiments/{name.as_posix()}"))
    return found


def _parts(content):
    """Cut a page into what is between fences of code and the fences, in turns."""
    return _FENCE.split(content)


def link_on_site(text, target, source, page):
    """Say what becomes of a link of a file of the repository on a page of the site.

    Parameters
    ----------
    text, target : str
        Of the link.
    source : Path
        File that has it.
    page : Path
        Page below `docs` that will have it.

    Returns
    -------
    str
        A link, or the text alone if the site has nothing to lead to.
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
    """Put the chapters of a report, if there are several, below a title."""
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
    """Write the pages before Sphinx looks for pages, and read all others with the site's links."""
    app.connect("builder-inited", _write_pages)
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
