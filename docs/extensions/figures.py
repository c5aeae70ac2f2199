"""The gallery's figures: one style, and an alternative text for each, which is its label."""

from pathlib import Path

import matplotlib.pyplot as plt
from sphinx_gallery.scrapers import figure_rst

STYLE = Path(__file__).parents[1] / "xdcc.mplstyle"


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
