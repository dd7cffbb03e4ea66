# conf.py - the book as HTML: ./bootstrap book, or doc/book/build.
# SPDX-License-Identifier: ISC
project = "pgsluice"
author = "the pgsluice developers"
extensions = ["myst_parser"]
root_doc = "doc/book/index"
myst_heading_anchors = 4
exclude_patterns = ["LICENSE"]
html_theme = "alabaster"
html_theme_options = {"description": "A connection pooler for PostgreSQL",
                      "fixed_sidebar": True, "page_width": "1060px"}
html_sidebars = {"**": ["about.html", "searchbox.html", "navigation.html"]}
html_css_files = ["book.css"]
html_static_path = ["doc/book/static"]
html_copy_source = False
html_show_sphinx = False
# fences have words for the test behind the language; console is no Python
highlight_language = "none"
suppress_warnings = ["myst.header", "myst.xref_missing", "misc.highlighting_failure"]
