"""Files of the repository that are pages of the site as well, and the links between the two.

Pages are written so that their links work where the repository is read. What leads out of `docs`
to one of `PAGES` leads to its page here.
"""

import os
import re
from pathlib import Path

DOCS = Path(__file__).parents[1]
REPOSITORY = DOCS.parent

PAGES = {
    "changelog": "CHANGELOG.md",
    "contributing": "CONTRIBUTING.md",
    "reports/experiments": "experiments/REPORT.md",
    "reports/speed": "experiments/benchmarks/RESULTS.md",
    "reports/quality": "experiments/benchmarks/QUALITY.md",
    "reports/auto_sketch": "experiments/benchmarks/AUTO_SKETCH.md",
    "reports/authors": "experiments/benchmarks/AUTHORS.md",
    "reports/chain_variants": "experiments/benchmarks/CHAIN_VARIANTS.md",
    "reports/chain_stopping": "experiments/benchmarks/CHAIN_STOPPING.md",
    "reports/rdt": "experiments/benchmarks/RDT.md",
    "reports/boomer": "experiments/benchmarks/BOOMER.md",
    "reports/lacovac": "experiments/benchmarks/LACOVAC.md",
    "reports/ctbn": "experiments/benchmarks/CTBN.md",
    "patches": "third_party/xgboost/README.md",
}
"""Page below `docs/made`: what it shows."""

TITLES = {"reports/experiments": "Report of the experiments"}
"""Titles of pages that consist of several chapters."""

_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[((?:[^\[\]`]|`[^`]*`)*)\]\(([^)\s]+)\)")


def _text_of(file):
    """Read a page's parts, those between fences of code and the fences, in turns."""
    return _FENCE.split(file)


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
    for name, shown in PAGES.items():
        if file == REPOSITORY / shown:
            return f"[{text}](/made/{name}.md{anchor})"
    if file.parent == DOCS / "gallery":
        return f"[{text}](/made/gallery/{file.stem}.rst)"
    if file.is_dir():
        return text
    return f"[{text}]({os.path.relpath(file, page.parent)}{anchor})"


def _with_links_of_site(content, source, page):
    parts = _text_of(content)
    parts[::2] = [
        _LINK.sub(lambda link: link_on_site(link[1], link[2], source, page), part)
        for part in parts[::2]
    ]
    return "".join(parts)


def _with_one_title(content, title):
    """Put all chapters below one title."""
    parts = _text_of(content)
    parts[::2] = [re.sub(r"^#", "##", part, flags=re.MULTILINE) for part in parts[::2]]
    return f"# {title}\n\n" + "".join(parts)


def _write_pages(app):
    for name, shown in PAGES.items():
        page, source = DOCS / "made" / f"{name}.md", REPOSITORY / shown
        content = _with_links_of_site(source.read_text("utf-8"), source, page)
        if name in TITLES:
            content = _with_one_title(content, TITLES[name])
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
