"""The settings of the documentation site: `make docs` builds it into docs/_build."""

import runpy
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

project = "Meshwright"
author = "The Meshwright authors"
copyright = "the Meshwright authors"  # noqa: A001  Sphinx's name for it
release = version = installed("meshwright")
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_title = "Meshwright"
html_static_path = ["_static"]
# All pages stand in the sidebar, by the captions of the index: the bar at the top would show five of them.
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": True, "navbar_center": []}
html_sidebars = {"**": ["globaltoc.html"]}
suppress_warnings = [
    "myst.xref_missing",
    "misc.highlighting_failure",
]  # links to files outside docs/; Mermaid


def setup(app: Any) -> None:
    """Write the designs' pages before Sphinx looks for pages; fill in the generated parts of others."""
    generate = runpy.run_path(str(Path(__file__).with_name("generate.py")))

    def fill(app: Any, page: str, source: list[str]) -> None:
        source[0] = generate["built"](page, source[0])

    app.connect("config-inited", lambda *_: generate["write_design_pages"]())
    app.connect("source-read", fill)
