"""A warning, which ``-W`` makes an error, for an image that has no alternative text."""

import re
from pathlib import Path

from docutils import nodes
from sphinx.util import logging

GALLERY = Path(__file__).parents[1] / "gallery"

logger = logging.getLogger(__name__)


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
