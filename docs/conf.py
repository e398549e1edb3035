"""The settings of the documentation site: `make docs` builds it into docs/_build."""

from importlib.metadata import version as installed

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
