"""How Sphinx makes the site; `build.py` beside this file calls it."""

from groundgraph import __version__

project = "groundgraph"
copyright = "The groundgraph authors, Apache-2.0"
release = __version__
root_doc = "docs/index"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["examples/*/*/**"]

html_theme = "furo"
html_title = f"groundgraph {release}"
html_copy_source = False
html_show_sphinx = False

# Headings have the anchors that they have on GitHub, so that a link leads to the same place on both.
myst_heading_anchors = 4
myst_enable_extensions = ["strikethrough"]

# Docstrings write code in single backticks.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 90
napoleon_use_ivar = True
