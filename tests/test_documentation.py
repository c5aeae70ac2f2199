"""README.md, CONTRIBUTING.md and the pages in docs: their examples run, and their links, paths and
commands exist. The build of the site (docs/conf.py) checks what only the site has.
"""

import contextlib
import functools
import inspect
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xgboost as xgb
import yaml
from markdown_it import MarkdownIt

import xdcc
from xdcc import data
from xdcc.base.booster_parameters import BOOSTER_PARAMS

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAPERS = ROOT / "experiments" / "papers" / "README.md"
DOCS = ROOT / "docs"
MADE = {"made", "_build"}
"""Folders written by the build of the site, ignored by git."""
PAGES = [
    README,
    ROOT / "CONTRIBUTING.md",
    PAPERS,
    *sorted(page for page in DOCS.rglob("*.md") if not MADE & set(page.parts)),
]
GUIDE = [page for page in PAGES if page.parent.name in ("start", "guide")]
OPTIONAL = (
    "onnxruntime",
    "treelite",
    "mlflow",
    "skops",
    "shap",
    "optuna",
    "optuna_integration",
    "sklearn.callback",
)
"""Modules that examples of pages import and that need not be installed."""
FOLDERS = ("docs", "experiments", "plugins", "tests", "third_party", "xdcc")


def tokens(page):
    """Yield all tokens of a page, including those inside paragraphs and table cells."""
    for token in MarkdownIt("commonmark").enable("table").parse(page.read_text("utf-8")):
        yield token
        yield from token.children or ()


def blocks(page, language):
    return [t.content for t in tokens(page) if t.type == "fence" and t.info == language]


def pages_with(language, but=None):
    found = [page for page in PAGES if page != but and blocks(page, language)]
    assert found, f"no page has a {language} block"
    return pytest.mark.parametrize("page", found, ids=lambda page: str(page.relative_to(ROOT)))


every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def test_every_block_is_in_a_tested_language():
    for page in PAGES:
        kinds = {t.info for t in tokens(page) if t.type in ("fence", "code_block")}
        assert kinds <= {"python", "sh", "yaml", "text", "cpp", "{toctree}", "{eval-rst}"}, page


def test_readme_in_the_root_of_the_clone():
    """Its examples run as they stand, pasted into Python, whose path begins with this folder."""
    lines = [*blocks(README, "python"), "assert probabilities.shape == test.Y.shape\n"]
    done = subprocess.run(
        [sys.executable, "-i"], input="".join(lines), cwd=ROOT, capture_output=True, text=True
    )
    assert "Error" not in done.stderr, done.stderr
    assert "subset_accuracy" in done.stdout


@pages_with("python", but=README)
@pytest.mark.filterwarnings("ignore:.*(type hint|input example):UserWarning")  # from MLflow
def test_python_examples(page, tmp_path, monkeypatch):
    """The blocks of a page run in order, in one namespace per page.

    To save time, data sets have an eighth of their rows, and boosters of a mixture learn fast.
    """
    load = data.load_dataset

    def load_fewer(*args):
        whole = load(*args)
        return whole[np.arange(0, len(whole), 8)]

    monkeypatch.setattr(data, "load_dataset", load_fewer)
    monkeypatch.setattr("xdcc.automatic.boosters._RATES", ((0.3, np.inf),))
    monkeypatch.chdir(tmp_path)  # some examples write files
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT)])  # one example imports `experiments`
    namespace = {"__name__": page.stem}
    missing = set()
    try:
        for block in blocks(page, "python"):
            if "import polars" in block:  # later blocks need it
                pytest.importorskip("polars")
            imported = {
                name for name in OPTIONAL if re.search(rf"^(import|from) {name}\b", block, re.M)
            }
            if absent := {name for name in imported if not find_spec(name)}:
                missing |= absent
                continue
            exec(compile(block, str(page), "exec"), namespace)
    finally:
        plt.close("all")
    if missing:
        pytest.skip(f"all examples run but those that import {', '.join(sorted(missing))}")


def test_example_of_an_experiment(tmp_path, run_python):
    """The configuration and the method of the page on experiments run, with smaller models."""
    page = DOCS / "guide" / "experiments.md"
    unused = shutil.ignore_patterns(
        "__pycache__", "results", "figures", "notebooks", "papers", "speed"
    )
    shutil.copytree(ROOT / "experiments", tmp_path / "experiments", ignore=unused)
    (method,) = blocks(page, "python")
    (tmp_path / "experiments" / "methods" / "my_forest.py").write_text(method)
    (content,) = blocks(page, "yaml")
    config = yaml.safe_load(content)
    config["datasets"] = ["digits-tiny"]
    config["tuning"]["draws"] = 1
    config["methods"]["ours"]["params"] = {"n_estimators": 2, "chain_length": 2}
    config["methods"]["forests"]["params"] = {"n_estimators": 2}
    (tmp_path / "my_comparison.yaml").write_text(yaml.safe_dump(config, allow_unicode=True))
    commands = [line for block in blocks(page, "sh") for line in block.splitlines()]
    commands = [shlex.split(line) for line in commands if "my_comparison" in line]
    assert {*map(tuple, (command[:3] for command in commands))} == {("python", "-m", "experiments")}
    assert [command[3] for command in commands] == ["run", "report", "report"]
    # All in one process, which imports everything once.
    calls = "".join(f"assert main({command[3:]}) == 0\n" for command in commands)
    done = run_python("-c", f"from experiments.__main__ import main\n{calls}")
    assert done.returncode == 0, done.stderr
    report = tmp_path / "experiments" / "results" / "reports" / "my_comparison.md"
    for line in config["methods"]:
        assert re.search(rf"^\| {line} \| \S*[01]\.\d", report.read_text(), re.MULTILINE), line


def test_configuration_of_the_page_is_valid(tmp_path, monkeypatch):
    """Replaces the method that the page asks the reader to write."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT)])
    from experiments.engine.configuration import load_configuration

    (content,) = blocks(DOCS / "guide" / "experiments.md", "yaml")
    file = tmp_path / "my_comparison.yaml"
    file.write_text(content.replace("my_forest", "forest_chain"))
    assert set(load_configuration(file).methods) == {"ours", "forests"}


@pages_with("sh")
def test_commands_exist(page):
    for block in blocks(page, "sh"):
        for line in block.splitlines():
            for command in line.split("&&"):
                check_command(shlex.split(command, comments=True))


def check_command(words):
    """Check that the program, files, extras and configurations of a command exist."""
    match words:
        case ["pip", "install", *targets]:
            for target in targets:
                if not target.startswith("--"):
                    check_requirement(target)
        case ["python", "-m", module, *arguments]:
            file = ROOT / module.replace(".", "/") / "__main__.py"
            assert file.is_file() or find_spec(module), module
            if module == "experiments":
                check_experiment(arguments)
        case ["python", script, *_]:
            assert (ROOT / script).is_file(), script
        case ["pytest", *_]:
            pass
        case ["sphinx-build", *arguments]:
            assert arguments[-2:] == ["docs", f"docs/_build/{arguments[-3]}"]
        case ["git" | "cd" | "source", *_]:
            pass
        case ["pre-commit", *_]:  # installed by the extra of an earlier command
            assert any("pre-commit" in requirement for requirement in extras()["lint"])
        case [program, *_]:
            assert os.access(ROOT / program, os.X_OK), program


def extras():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def check_requirement(target):
    path, extra = re.fullmatch(r"([\w./]+)(?:\[([\w,]+)\])?", target).groups()
    assert (ROOT / path / "pyproject.toml").is_file(), target
    assert extra is None or set(extra.split(",")) <= set(extras()), target


def check_experiment(arguments):
    command, *names = arguments
    assert command in ("list", "run", "report", "notebooks"), command
    for name in names:
        # The page shows this file.
        if name not in ("my_comparison.yaml", "--all", "--pages", "--latex"):
            paper, _, size = name.rpartition("-")
            assert (ROOT / "experiments" / "papers" / paper / f"{size}.yaml").is_file(), name


def anchors(page):
    """Return the headings in the form that GitHub uses in links."""
    text = page.read_text("utf-8")
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


@every_page
def test_targets_of_links_and_images_exist(page):
    targets = [t.attrs.get("href") or t.attrs.get("src") for t in tokens(page)]
    for target in filter(None, targets):
        assert not target.startswith("/"), target
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def test_images_have_alternative_texts():
    for page in PAGES:
        assert all(t.content for t in tokens(page) if t.type == "image"), page


@every_page
def test_paths_in_the_text_exist(page):
    for token in tokens(page):
        if token.type != "code_inline":
            continue
        for word in token.content.split():
            if word.startswith(tuple(f"{folder}/" for folder in FOLDERS)):
                made = word.startswith(("docs/_build/", "experiments/results/"))
                assert made or (ROOT / word).exists(), word


@pytest.mark.parametrize("section", ["start", "guide", "internals"])
def test_index_of_a_section_lists_every_page(section):
    index = DOCS / section / "index.md"
    named = {token.attrs["href"] for token in tokens(index) if token.type == "link_open"}
    pages = {page.name for page in index.parent.glob("*.md")} - {index.name}
    assert {name.partition("#")[0] for name in named if "/" not in name} == pages


def test_external_links_are_on_one_page():
    """One command can check them, and neither the tests nor the build need network access."""
    for page in PAGES:
        addresses = [t.attrs["href"] for t in tokens(page) if "://" in t.attrs.get("href", "")]
        assert page.name == "references.md" or not addresses, page


KEYWORD = re.compile(r"(?<![\w.\"'\]])([a-z_]\w*)=(?!=)")
"""In a code span: the keyword of an argument."""


OF_OTHERS = {"intra_op_num_threads", "model_type"}
"""Keyword arguments of ONNX Runtime and nvForest."""


def public_keywords():
    """Collect the parameters of all public functions, methods and constructors."""
    found = {name for param in BOOSTER_PARAMS for name in (param.name, *param.other_names)}
    for module in pkgutil.walk_packages(xdcc.__path__, "xdcc."):
        if module.name.rpartition(".")[2].startswith("_"):
            continue
        for name, value in vars(import_module(module.name)).items():
            if name.startswith("_") or not getattr(value, "__module__", "").startswith("xdcc"):
                continue
            members = [value]
            if inspect.isclass(value):
                members += [m for n, m in inspect.getmembers(value) if not n.startswith("_")]
            for member in members:
                with contextlib.suppress(TypeError, ValueError):
                    found |= set(inspect.signature(member).parameters)
    return found


@functools.cache
def known_keywords():
    return public_keywords() | set(inspect.signature(xgb.train).parameters) | OF_OTHERS


@pytest.mark.parametrize("page", GUIDE, ids=lambda page: str(page.relative_to(ROOT)))
def test_keywords_in_the_text_exist(page):
    """A keyword in a code span is a parameter of something public, or of XGBoost."""
    spans = [token.content for token in tokens(page) if token.type == "code_inline"]
    keywords = {word for span in spans for word in KEYWORD.findall(span)}
    assert keywords - known_keywords() == set()


def test_a_keyword_that_does_not_exist_is_found():
    assert KEYWORD.findall('Trees(n_boosters=3, measure="a=b")') == ["n_boosters", "measure"]
    assert "sketch_size" in known_keywords()
    assert "n_boosters" not in known_keywords()
