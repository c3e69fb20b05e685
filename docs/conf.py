"""The site (`make docs`): Sphinx reads the pages where they lie, so that their links hold in a checkout, too."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

project = "enrelm"
author = "The enrelm authors"
project_copyright = "2026, the enrelm authors"
release = re.findall(r'__version__ = "([^"]+)"', (ROOT / "enrelm_cli" / "__init__.py").read_text(encoding="utf-8"))[0]
version = release

extensions = ["myst_parser", "sphinx_copybutton"]
# The source folder is that of the project: pages of the top level, of benchmarks and of examples belong to the site.
root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "benchmarks/REPORT.md",
    "examples/README.md",
]
exclude_patterns = [".*", "**/.*", "build", "dist", "tests", "enrelm", "enrelm_cli", "*.egg-info"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
# The changelog and the reports begin where they begin: no page is forced to have every level of heading.
suppress_warnings = ["myst.header"]
# A code block of the pages is a block of the shell unless it says otherwise.
highlight_language = "text"
pygments_style = "friendly"
copybutton_prompt_text = r"^\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"enrelm {release}"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
# Nothing comes from the network, and nothing says when it was built: the same pages give the same files.
html_last_updated_fmt = None

_REDIRECT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>enrelm</title>
<meta http-equiv="refresh" content="0; url=docs/index.html"></head>
<body><a href="docs/index.html">The documentation of enrelm</a></body></html>
"""


def _finish(app: Any, problem: Exception | None) -> None:
    """The pages lie under docs/; whoever opens the folder is sent there. Man pages come along."""
    if problem is None and app.builder.name == "html":
        out = Path(app.outdir)
        (out / "index.html").write_text(_REDIRECT, encoding="utf-8")
        shutil.copytree(ROOT / "docs" / "man", out / "man", dirs_exist_ok=True)


def setup(app: Any) -> None:
    app.connect("build-finished", _finish)
