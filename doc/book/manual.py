#!/usr/bin/python3
# manual.py - a manual page as Markdown, with an anchor for each setting.
# SPDX-License-Identifier: ISC
"""usage: manual.py PAGE.scd >PAGE.md

scdoc and mandoc make HTML of the page. Its headings become those of Markdown,
so that the book lists and searches them; what is between stays HTML."""
import html
import os
import re
import subprocess
import sys

HEADING = re.compile(r'<h([12]) class="S[hs]" id="[^"]*">(.*?)</h\1>', re.S)
WRAPPING = re.compile(r'</?section[^>]*>\n?|<div class="manual-text">\n?')
OUTSIDE = re.compile(r'<table class="(?:head|foot)">.*?</table>\n?', re.S)
# "name (type, default)": what stands under a heading such as "Pools and limits"
SETTING = re.compile(r'<p class="Pp"><b>(\w+)</b>(?= \([^<]*\)</p>)')
# the keys of the entries of a section, perhaps several with commas between
KEYS = re.compile(r'<p class="Pp">(<b>\w+</b>(?:,\s+<b>\w+</b>)*)</p>')


ACRONYMS = {"Hba": "HBA", "Http": "HTTP", "Ldap": "LDAP", "pam": "PAM",
            "Tls": "TLS", "pgbouncer": "PgBouncer"}


def tool(*args, text):
    return subprocess.run(args, input=text, stdout=subprocess.PIPE,
                          text=True, check=True).stdout


def anchored(ident):
    return f'<p class="Pp setting" id="{ident}">' \
        f'<a class="headerlink" href="#{ident}" title="Link to {ident}">#</a>'


def with_anchors(body, section):
    """Settings of [pgbouncer] by their name, keys of entries by both."""
    body = SETTING.sub(lambda m: f"{anchored(m[1])}<b>{m[1]}</b>", body)
    if section not in ("databases", "users", "peers"):
        return body

    def keys(m):
        names = re.findall(r"<b>(\w+)</b>", m[1])
        spans = "".join(f'<span id="{section}.{name}"></span>'
                        for name in names[1:])
        return f"{anchored(f'{section}.{names[0]}')}{spans}{m[1]}</p>"
    return KEYS.sub(keys, body)


def markdown(path):
    with open(path, encoding="utf-8") as f:
        page = tool("scdoc", text=f.read())
    # mandoc drops blank lines of examples, except of a blank that does not break
    page = re.sub(r"^\.nf$.*?^\.fi$", lambda m: re.sub(
        r"^$", r"\\ ", m[0], flags=re.M), page, flags=re.M | re.S)
    text = tool("mandoc", "-T", "html", "-O", "fragment", text=page)
    text = WRAPPING.sub("", OUTSIDE.sub("", text))
    name, number = os.path.basename(path).split(".scd")[0].rsplit(".", 1)
    out = [f"# {name}({number})\n"]
    section = ""
    for n, piece in enumerate(re.split(r"(?=<h[12] class)", text)):
        heading = HEADING.match(piece)
        body = piece
        if heading:
            words = html.unescape(re.sub(r"<[^>]+>", "", heading[2]))
            words = " ".join(words.split())
            if heading[1] == "1":
                section = words.lower()
                words = re.sub(r"\w+", lambda m: ACRONYMS.get(m[0], m[0]),
                               words.capitalize())
            out.append(f"\n{'#' * (int(heading[1]) + 1)} {words}\n")
            body = piece[heading.end():]
        body = re.sub(r"</div>\s*$", "", body) \
            if body.count("</div>") > body.count("<div") else body
        body = with_anchors(body, section).replace("&#x2022;", "&#x2022; ").strip()
        if body and (heading or n):
            out.append('\n````{raw} html\n<div class="manual">\n'
                       f"{body}\n</div>\n````\n")
    return "".join(out)


sys.stdout.write(markdown(sys.argv[1]))
