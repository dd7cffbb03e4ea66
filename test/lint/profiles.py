#!/usr/bin/python3
# profiles.py - contrib/profile knows what each function of the tree is for.
# SPDX-License-Identifier: ISC
import os
import re
import sys

import lint

sys.path.insert(0, os.path.join(lint.ROOT, "contrib", "profile"))
import reasons  # noqa: E402

TABLE = "contrib/profile/reasons.py"


def functions():
    """{name: its file} of what other files can call, and of what they cannot."""
    public, private = {}, {}
    for path in lint.files("src", ends=".c"):
        if path.startswith("src/ctl/"):
            continue
        for name, head, *_ in lint.functions(lint.blank(lint.read(path))):
            kind = private if re.search(r"\bstatic\b", head) else public
            kind[name] = path
    public.pop("__attribute__", None)
    return public, private


def is_own(prefix):
    """Of the program, not of a library or the kernel."""
    return ":" not in prefix and not prefix.startswith(("[", "libevent"))


def main():
    public, private = functions()
    prefixes = [p for _, _, p in reasons.TABLE if is_own(p)] + \
        list(reasons.OF_THE_CALLER)
    lint.finish({
        "each function has a reason": [
            f"{path}: {TABLE} has no reason for {name}(): add what its name "
            "begins with" for name, path in sorted(public.items())
            if reasons.row_of(name, False) is None
            and not name.startswith(reasons.OF_THE_CALLER)],
        "each reason has a function": [
            f"{TABLE}: no function begins with {prefix}"
            for prefix in prefixes
            if not any(name.startswith(prefix)
                       for name in (*public, *private))],
    })


main()
