"""Sets the style of the gallery's figures, and checks that each image has an alternative text.

The alternative text of a figure is its label. An image without one emits a warning, which ``-W``
turns into an error.
"""

import re
import warnings
from pathlib import Path
from textwrap import indent

import matplotlib.pyplot as plt
from docutils import nodes
from sphinx.util import logging
from sphinx_gallery.scrapers import figure_rst

DOCS = Path(__file__).parents[1]
GALLERY = DOCS / "gallery"
STYLE = DOCS / "xdcc.mplstyle"

logger = logging.getLogger(__name__)


def reset_style(gallery_conf, fname):
    """Apply the documentation's style before each example."""
    plt.rcdefaults()
    plt.style.use(STYLE)


def scraper(block, block_vars, gallery_conf):
    """Save the open figures, with the text from `figure.set_label`; a warning stops the build."""
    saved = ""
    for number in plt.get_fignums():
        figure = plt.figure(number)
        text = " ".join(figure.get_label().split())
        if not text:
            raise ValueError(f"{block_vars['src_file']}: call set_label(...) on every figure")
        file = next(block_vars["image_path_iterator"])
        with warnings.catch_warnings(action="error"):
            figure.savefig(file)
        kind = "gallery-figure wide" if figure.get_figwidth() > 9 else "gallery-figure"
        image = figure_rst([file], gallery_conf["src_dir"], text)
        saved += f"\n.. container:: {kind}\n{indent(image, '   ')}"
    plt.close("all")
    return saved


def title_of(example):
    """Read the title of a gallery example."""
    return (GALLERY / f"{example}.py").read_text("utf-8").splitlines()[1]


def _check(app, doctree):
    for image in doctree.findall(nodes.image):
        if thumbnail := re.search(r"sphx_glr_(.+)_thumb\.png$", image["uri"]):
            image["alt"] = f"Figure of “{title_of(thumbnail[1])}”"
        if not image.get("alt", "").strip():
            logger.warning("%s has no alternative text", image["uri"], location=image)


def setup(app):
    """Check the images of every page."""
    app.connect("doctree-read", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
