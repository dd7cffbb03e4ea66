#!/usr/bin/python3
# debian.py - the packages keep up with what they pack.
# SPDX-License-Identifier: ISC
import json
import os
import re
import subprocess

import lint

# in bootstrap, but no library to build with
TOOLS = {"autoconf", "automake", "gcc", "make", "libc6-dev", "postgresql-15",
         "postgresql-client-15"}


SPEC = "etc/rpm/pgsluice.spec"


def has(path):
    return os.path.exists(os.path.join(lint.ROOT, path))


def check_version():
    configured = re.search(r"AC_INIT\(\[pgsluice\], \[(.+?)\]\)",
                           lint.read("configure.ac")).group(1)
    packed = re.match(r"pgsluice \((.+)-\d+\)",
                      lint.read("debian/changelog")).group(1)
    if packed != configured:
        yield f"debian/changelog: {packed}, configure.ac: {configured}"
    spec = re.search(r"^Version: +(\S+)", lint.read(SPEC), re.M).group(1)
    if spec != configured:
        yield f"{SPEC}: {spec}, configure.ac: {configured}"


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
    spec = set(re.findall(r"--with-[a-z]+", lint.read(SPEC)))
    if asked != spec:
        yield f"{SPEC}: {sorted(spec)}, bootstrap: {sorted(asked)}"


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


def check_parts():
    """The list of materials has the libraries that configure looks for."""
    configure = lint.read("configure.ac")
    wanted = {}
    for modules in re.findall(r"PKG_CHECK_MODULES\(\[\w+\], \[(.*?)\]",
                              configure):
        for name, lowest in re.findall(r"([\w-]+)(?: >= ([\d.]+))?",
                                       modules):
            wanted[name] = f">= {lowest}" if lowest else None
    del wanted["cmocka"]
    told = json.loads(subprocess.run(
        ["sh", "etc/sbom/spdx.sh", "1", "0"], cwd=lint.ROOT, check=True,
        stdout=subprocess.PIPE, text=True).stdout)
    parts = {p["name"]: p.get("versionInfo") for p in told["packages"]}
    for name, lowest in sorted(wanted.items()):
        if name not in parts or parts[name] != lowest:
            yield (f"etc/sbom/spdx.sh: {name} {parts.get(name)}, "
                   f"configure.ac: {lowest}")
    known = {p["SPDXID"] for p in told["packages"]} | {told["SPDXID"]}
    for edge in told["relationships"]:
        if {edge["spdxElementId"], edge["relatedSpdxElement"]} - known:
            yield f"etc/sbom/spdx.sh: {edge} is of an unknown package"


CHECKS = (check_version, check_libraries, check_features, check_names,
          check_licence, check_parts)

# a release has no debian/
lint.finish({c.__name__[6:]: list(c()) if has("debian") else []
             for c in CHECKS})
