"""Renders formulas as MathML, which browsers display without scripts or network access."""

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)


def _formula(node, as_block=False):
    try:
        return tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        logger.warning("formula %s: %s", node.astext(), error, location=node)
        return ""


def _inline(translator, node):
    translator.body.append(_formula(node))
    raise nodes.SkipNode


def _block(translator, node):
    translator.body.append(f'<div class="formula">{_formula(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app):
    """Register the renderer ``mathml``."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
