"""The README's Python examples run, in their order, in one namespace."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_python_examples(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # one example writes files
    blocks = re.findall(
        r"^```python\n(.*?)^```$", README.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert len(blocks) == 6
    namespace = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), namespace)
    assert namespace["probabilities"].shape == namespace["test"].Y.shape
    assert "subset_accuracy" in capsys.readouterr().out
