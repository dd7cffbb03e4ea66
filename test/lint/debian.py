#!/usr/bin/python3
# debian.py - the package keeps up with what it packs.
# SPDX-License-Identifier: ISC
import os
import re

import lint

# in bootstrap, but no library to build with
TOOLS = {"autoconf", "automake", "gcc", "make", "libc6-dev", "postgresql-15",
         "postgresql-client-15"}


def has(path):
    return os.path.exists(os.path.join(lint.ROOT, path))


def check_version():
    configured = re.search(r"AC_INIT\(\[pgsluice\], \[(.+?)\]\)",
                           lint.read("configure.ac")).group(1)
    packed = re.match(r"pgsluice \((.+)-\d+\)",
                      lint.read("debian/changelog")).group(1)
    if packed != configured:
        yield f"debian/changelog: {packed}, configure.ac: {configured}"


def check_libraries():
    listed = re.search(r"^build_packages=\((.*?)\)", lint.read("bootstrap"),
                       re.M | re.S).group(1).split()
    control = lint.read("debian/control")
    for name in sorted(set(listed) - TOOLS):
        if not re.search(rf"^ {re.escape(name)}\b", control, re.M):
            yield f"debian/control: {name} is no Build-Depends"


def check_features():
    asked = set(re.findall(r"--with-[a-z]+", re.search(
        r"^features=\(.*\)", lint.read("bootstrap"), re.M).group()))
    rules = set(re.findall(r"--with-[a-z]+", lint.read("debian/rules")))
    if asked != rules:
        yield f"debian/rules: {sorted(rules)}, bootstrap: {sorted(asked)}"


def check_names():
    """What README.Debian and the scripts name is what is installed."""
    for path in ("debian/pgsluice.postinst", "debian/pgsluice.README.Debian"):
        for name in re.findall(r"/etc/pgsluice/([\w.]+)", lint.read(path)):
            if not has("etc/" + name):
                yield f"{path}: etc/{name} is not there"


def check_licence():
    text = re.sub(r"\s+", " ", lint.read("LICENSE").split("\n", 4)[4])
    packed = re.sub(r"\n \.\n", "\n\n", lint.read("debian/copyright"))
    if text.strip() not in re.sub(r"\s+", " ", packed):
        yield "debian/copyright: not the text of LICENSE"


CHECKS = (check_version, check_libraries, check_features, check_names,
          check_licence)

# a release has no debian/
lint.finish({c.__name__[6:]: list(c()) if has("debian") else []
             for c in CHECKS})
