"""Pictures: the style of the gallery's figures, and an alternative text for each image.

A figure's text is its label. An image without a text is a warning, which ``-W`` makes an error.
"""

import re
from pathlib import Path

import matplotlib.pyplot as plt
from docutils import nodes
from sphinx.util import logging
from sphinx_gallery.scrapers import figure_rst

DOCS = Path(__file__).parents[1]
GALLERY = DOCS / "gallery"
STYLE = DOCS / "xdcc.mplstyle"

logger = logging.getLogger(__name__)


def reset_style(gallery_conf, fname):
    """Begin every example in the style."""
    plt.rcdefaults()
    plt.style.use(STYLE)


def scraper(block, block_vars, gallery_conf):
    """Save the open figures; `figure.set_label` says what there is to see."""
    saved = ""
    for number in plt.get_fignums():
        figure = plt.figure(number)
        text = " ".join(figure.get_label().split())
        if not text:
            raise ValueError(f"{block_vars['src_file']}: a figure without set_label(...)")
        file = next(block_vars["image_path_iterator"])
        figure.savefig(file)
        saved += figure_rst([file], gallery_conf["src_dir"], text)
    plt.close("all")
    return saved


def title_of(example):
    """Read the title of an example of the gallery."""
    return (GALLERY / f"{example}.py").read_text("utf-8").splitlines()[1]


def _check(app, doctree):
    for image in doctree.findall(nodes.image):
        if thumbnail := re.search(r"sphx_glr_(.+)_thumb\.png$", image["uri"]):
            image["alt"] = f"The picture of “{title_of(thumbnail[1])}”"
        if not image.get("alt", "").strip():
            logger.warning("%s has no alternative text", image["uri"], location=image)


def setup(app):
    """Look at every page that is read."""
    app.connect("doctree-read", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
