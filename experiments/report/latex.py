"""A report in LaTeX, made of its Markdown: for pdflatex, with booktabs tables and PDF figures."""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from markdown_it import MarkdownIt
from markdown_it.token import Token

DOCUMENT = r"""\documentclass{{article}}
\usepackage[T1]{{fontenc}}
\usepackage[utf8]{{inputenc}}
\usepackage[margin=2cm]{{geometry}}
\usepackage{{amssymb,booktabs,graphicx,hyperref}}
\usepackage[export]{{adjustbox}}
\setlength{{\parindent}}{{0pt}}
\setlength{{\parskip}}{{1ex}}
\begin{{document}}
{body}
\end{{document}}
"""

_SECTIONS = {"h1": "section*", "h2": "subsection*", "h3": "subsubsection*"}

_STYLES = {"strong": "textbf", "em": "emph"}

_SIGNS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%",
    "#": r"\#", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"$<$",
    ">": r"$>$", "|": r"$|$", "▲": r"$\blacktriangle$", "▼": r"$\blacktriangledown$",
    "χ": r"$\chi$", "²": r"$^2$", "×": r"$\times$", "±": r"$\pm$", "−": r"$-$", "≤": r"$\leq$",
    "≥": r"$\geq$", "≈": r"$\approx$", "→": r"$\to$", "–": "--", "…": r"\dots{}", "µ": r"$\mu$",
    "·": r"$\cdot$", "\u00a0": "~",
}  # fmt: skip
"""Characters that LaTeX reads in another way, or that its fonts lack."""


def latex_of(markdown: str) -> str:
    r"""Convert a report.

    Parameters
    ----------
    markdown : str
        Headings, paragraphs, lists, tables and figures, which are SVG files.

    Returns
    -------
    str
        A document. A table is the `tabular` of its section, so that it can be copied into a paper;
        figures are the PDF files of the same names.

    Examples
    --------
    >>> latex = latex_of("| F1 | emotions |\n| --- | ---: |\n| A_1 | **0.7** |")
    >>> print(latex[latex.index(r"\begin{tabular}") : latex.index(r"\end{adjustbox}")])
    \begin{tabular}{lr}
    \toprule
    F1 & emotions \\
    \midrule
    A\_1 & \textbf{0.7} \\
    \bottomrule
    \end{tabular}
    <BLANKLINE>
    """
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    return DOCUMENT.format(body="".join(_blocks(tokens)).strip())


def escaped(text: str) -> str:
    r"""Write text so that LaTeX shows it as it is.

    Examples
    --------
    >>> escaped("5 % of a_b")
    '5 \\% of a\\_b'
    """
    return "".join(_SIGNS.get(sign, sign) for sign in text)


def _blocks(tokens: Sequence[Token]) -> Iterator[str]:
    """Write blocks; the cells of a row, and the alignment of columns, are collected first."""
    cells: list[str] = []
    alignment: list[str] = []
    in_head = in_table = False
    for token in tokens:
        match token.type:
            case "heading_open":
                yield f"\\{_SECTIONS.get(token.tag, 'paragraph*')}{{"
            case "heading_close":
                yield "}\n\n"
            case "paragraph_close":
                yield "\n" if token.hidden else "\n\n"
            case "bullet_list_open":
                yield "\\begin{itemize}\n"
            case "bullet_list_close":
                yield "\\end{itemize}\n\n"
            case "list_item_open":
                yield "\\item "
            case "fence" | "code_block":
                yield f"\\begin{{verbatim}}\n{token.content}\\end{{verbatim}}\n\n"
            case "thead_open":
                in_head = in_table = True
                alignment = []
            case "th_open":
                alignment.append("r" if "right" in str(token.attrGet("style") or "") else "l")
            case "thead_close":
                in_head = False
                yield (
                    "\\begin{center}\n\\begin{adjustbox}{max width=\\textwidth}\n"
                    f"\\begin{{tabular}}{{{''.join(alignment)}}}\n\\toprule\n{_row(cells)}\\midrule\n"
                )
                cells = []
            case "tr_close" if not in_head:
                yield _row(cells)
                cells = []
            case "table_close":
                in_table = False
                yield "\\bottomrule\n\\end{tabular}\n\\end{adjustbox}\n\\end{center}\n\n"
            case "inline" if in_table:
                cells.append("".join(_spans(token.children or [])))
            case "inline":
                yield from _spans(token.children or [])


def _spans(tokens: Sequence[Token]) -> Iterator[str]:
    """Write what is inside a paragraph or a cell."""
    for token in tokens:
        kind, _, side = token.type.rpartition("_")
        if token.type in ("text", "text_special"):
            yield escaped(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            yield "\n"
        elif token.type == "code_inline":
            yield f"\\texttt{{{escaped(token.content)}}}"
        elif token.type == "image":
            file = PurePosixPath(str(token.attrGet("src"))).with_suffix(".pdf")
            yield f"\\includegraphics[max width=\\textwidth]{{{file}}}"
        elif kind in _STYLES:
            yield f"\\{_STYLES[kind]}{{" if side == "open" else "}"
        elif kind == "link":
            address = str(token.attrGet("href") or "").replace("%", "\\%").replace("#", "\\#")
            yield f"\\href{{{address}}}{{" if side == "open" else "}"


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + " \\\\\n"
