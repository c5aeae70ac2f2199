"""The documentation site: ``sphinx-build -W --keep-going -b html docs docs/_build/html``.

The build uses the installed package and needs no network. It writes generated pages (API, gallery
and the repository's reports) to ``docs/made``, which git ignores.
"""

import os
import sys
from importlib.metadata import version as version_of
from pathlib import Path

import xdcc  # noqa: F401 (before the clone is on the path)

HERE = Path(__file__).parent
# The gallery imports the reference implementations from the clone, but xdcc as it is installed.
sys.path[:0] = [str(HERE / "extensions"), str(HERE.parent)]
os.environ.setdefault("OMP_NUM_THREADS", "1")  # keeps the gallery's times comparable

project = "xdcc"
author = "the authors of xdcc"
version = release = version_of("xdcc")
language = "en"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "api_reference",
    "formulas",
    "pictures",
    "repository_pages",
]
exclude_patterns = ["_build", "extensions", "gallery", "made/gallery/*.ipynb"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_context = {
    "constants": {
        "xdcc.comparators.baselines": ["ORDERS", "Order"],
        "xdcc.boosting": ["BOOSTER_PARAMS", "SPLIT_METHODS", "SPLIT_METHOD_NUMBERS"],
    }
}
autodoc_typehints = "none"  # the docstrings describe the types
numpydoc_show_class_members = False  # members are documented below their class

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "made/gallery",
    "filename_pattern": "/",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "made/backreferences",
    "doc_module": ("xdcc",),
    "image_scrapers": ("pictures.scraper",),
    "reset_modules": ("pictures.reset_style",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "write_computation_times": False,
    "remove_config_comments": True,
}

# For `sphinx-build -b linkcheck`, which needs network access; publishers redirect their DOIs.
linkcheck_allowed_redirects = {r"https://doi\.org/.*": r"https?://.*"}
linkcheck_anchors = False
linkcheck_timeout = 20

html_theme = "pydata_sphinx_theme"
html_title = "xdcc"
html_static_path = ["_static"]
html_css_files = ["xdcc.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "xdcc"},
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": {  # none where figures or tables need the width
        "[!m]**": ["page-toc"],
        "made/[!g]**": ["page-toc"],
        "start/how_it_compares": [],
    },
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "article_footer_items": [],
}
html_context = {"default_mode": "light"}
copyright = "the authors of xdcc, Apache-2.0"
