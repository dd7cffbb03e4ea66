# conf.py - the two books as HTML: ./bootstrap book, or doc/book/build.
# SPDX-License-Identifier: ISC
"""Without a tag it is the book for users; with -t contributors it is that of
people who change the program. Each has a search of its own, so users find no
contributors' pages. A link into the other book leads to its HTML."""
import os
import posixpath
import re

CONTRIBUTORS = [
    "README", "CONTRIBUTING", "doc/contributors", "doc/architecture",
    "doc/conformance", "doc/measurements", "doc/regressions", "doc/workers",
    "doc/spec/*", "test/suites/README"]
USERS = [
    "CHANGELOG", "NEWS", "SECURITY", "doc/book/*", "doc/container", "doc/fleet",
    "doc/glossary", "doc/migrating", "doc/performance", "doc/pgsluice*",
    "doc/serverless", "doc/troubleshooting", "doc/userlist*",
    "doc/where-does-the-time-go"]

for_users = not tags.has("contributors")  # noqa: F821 (Sphinx has it)
project = "pgsluice" if for_users else "pgsluice for contributors"
author = "the pgsluice developers"
extensions = ["myst_parser", "sphinx_copybutton"]
root_doc = "doc/book/index" if for_users else "doc/contributors"
exclude_patterns = ["LICENSE"] + [
    page + ".md" for page in (CONTRIBUTORS if for_users else USERS)]
myst_heading_anchors = 4
html_theme = "furo"
html_title = project
html_css_files = ["book.css"]
html_static_path = ["doc/book/static"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
# each has a contrast of 4.5 and more in all that it colours
pygments_style = "xcode"
pygments_dark_style = "github-dark"
highlight_language = "none"
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
suppress_warnings = ["myst.header", "myst.xref_missing", "misc.highlighting_failure"]

LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s:]+)\)")
# fences have words for the test (test/system/book.py); a name with a dot is a file's
FENCE = re.compile(r"^```(\w+) (\S+)\n(.*?)^```$", re.M | re.S)


def is_of(pages, path):
    return any(re.fullmatch(re.escape(p).replace(r"\*", r"[\w.-]*"), path)
               for p in pages)


def address(page, target):
    """The HTML of a page of the other book, or of a setting; or None."""
    name, _, anchor = target.partition("#")
    if not name.endswith(".md"):
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), name))[:-3]
    away = is_of(CONTRIBUTORS if for_users else USERS, path)
    if not away and not (anchor and path.startswith("doc/pgsluice.ini")):
        return None
    up = "../" * page.count("/")
    other = ("contributors/" if for_users else "../") if away else ""
    return f"{up}{other}{path}.html" + (f"#{anchor}" if anchor else "")


def with_file_name(m):
    if "." not in m[2]:
        return m[0]
    return f"```{{code-block}} {m[1]}\n:caption: {m[2]}\n\n{m[3]}```"


def source_read(app, page, source):
    def link(m):
        to = address(page, m[2])
        return m[0] if to is None else f'<a href="{to}">{m[1]}</a>'

    parts = re.split(r"(^```.*?^```$)", source[0], flags=re.M | re.S)
    source[0] = "".join(FENCE.sub(with_file_name, part) if n % 2
                        else LINK.sub(link, part)
                        for n, part in enumerate(parts))


def setup(app):
    app.connect("source-read", source_read)
