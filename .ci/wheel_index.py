"""Makes a package index of static files: ``python .ci/wheel_index.py site wheel...``.

A public index refuses versions with a local part, which the wheel of XGBoost has. Any web server
that hands out the folder is an index for both wheels, and so is the folder itself:
``pip install --extra-index-url <address>/simple xdcc``. The pages are those of PEP 503: a folder
for each project, a link with its digest for each file.
"""

import hashlib
import html
import re
import shutil
import sys
from collections import defaultdict
from pathlib import Path
from urllib.parse import quote

PAGE = '<!DOCTYPE html>\n<meta charset="utf-8">\n<title>{}</title>\n{}\n'


def make_index(site: Path, wheels: list[Path]) -> None:
    """Copy wheels into ``site/simple`` and write the pages."""
    links = defaultdict(list)
    for wheel in sorted(wheels, key=lambda path: path.name):
        project = re.sub(r"[-_.]+", "-", wheel.name.split("-")[0]).lower()
        folder = site / "simple" / project
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(wheel, folder / wheel.name)
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        address = f"{quote(wheel.name)}#sha256={digest}"
        links[project].append(f'<a href="{address}">{html.escape(wheel.name)}</a><br>')
    for project, of_project in links.items():
        page = PAGE.format(project, "\n".join(of_project))
        (site / "simple" / project / "index.html").write_text(page, encoding="utf-8")
    projects = "\n".join(f'<a href="{project}/">{project}</a><br>' for project in links)
    (site / "simple" / "index.html").write_text(PAGE.format("Wheels", projects), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit("usage: python .ci/wheel_index.py <folder of the site> <wheel>...")
    make_index(Path(sys.argv[1]), [Path(wheel) for wheel in sys.argv[2:]])
