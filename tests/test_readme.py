"""The README's Python examples run, in their order, in one namespace."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


def test_python_examples(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # one example writes files
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT)])  # one imports `experiments`
    blocks = re.findall(
        r"^```python\n(.*?)^```$", README.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert len(blocks) == 11
    namespace = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), namespace)
    assert namespace["probabilities"].shape == namespace["test"].Y.shape
    assert namespace["METHOD"].build(None, 0).random_state == 0
    assert "subset_accuracy" in capsys.readouterr().out
