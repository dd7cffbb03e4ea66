#!/usr/bin/python3
# headers.py - each header compiles alone, and twice; each file says what it is.
# SPDX-License-Identifier: ISC
import concurrent.futures
import os
import re
import subprocess

import lint

CC = os.environ.get("LINT_CC") or (
    f"cc -std=gnu17 -Wall -Wextra -D_GNU_SOURCE -I'{lint.ROOT}/include'")


def compile_alone(path):
    name = path[len("include/"):]
    run = subprocess.run(
        f"{CC} -Werror -fsyntax-only -x c -", shell=True, text=True,
        input=f'#include "{name}"\n#include "{name}"\n',
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return [f"{path}: {line}" for line in run.stdout.splitlines()
            ] if run.returncode else []


def check_guard(path):
    guard = re.sub(r"\W", "_", path[len("include/"):]).upper()
    text = lint.read(path)
    if f"#ifndef {guard}\n#define {guard}\n" not in text:
        return [f"{path}: the guard is not {guard}"]
    return []


def check_top(path):
    top = lint.read(path).split("\n")[:20]
    name = os.path.basename(path)
    findings = []
    if not any(re.match(rf'(?:/\*|#|dnl|""")?\s*{re.escape(name)} - \S', t)
               for t in top[:2]) and path.endswith((".c", ".h", ".def")):
        findings.append(f"{path}:1: want /* {name} - what it is for */")
    if not any("SPDX-License-Identifier: ISC" in t for t in top):
        findings.append(f"{path}:1: want SPDX-License-Identifier: ISC")
    return findings


def main():
    headers = lint.files("include", ends=".h")
    everything = lint.files("src", "include", "test",
                            ends=(".c", ".h", ".def", ".py", ".sh"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        alone = list(pool.map(compile_alone, headers))
    lint.finish({
        "headers compile alone": sum(alone, []),
        "guards": [f for p in headers for f in check_guard(p)],
        "files say what they are": [f for p in everything
                                    for f in check_top(p)],
    })


main()
