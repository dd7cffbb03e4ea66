#!/usr/bin/python3
# lengths.py - limits on files, functions and lines (CONTRIBUTING.md).
# SPDX-License-Identifier: ISC
import re

import lint

FILE_LINES = {".c": 900, ".h": 300}
LIMITS = {"lines": 60, "parameters": 4, "nesting": 3, "complexity": 15}
WIDTH = 100
BRANCH = re.compile(r"\b(?:if|for|while|case)\b|\?")


def parameters(signature):
    depth, count, inside = 0, 0, ""
    for c in signature[signature.find("("):]:
        depth += (c == "(") - (c == ")")
        if depth == 0:
            break
        if depth == 1 and c == ",":
            count += 1
        elif not (depth == 1 and c == "("):
            inside += c
    if inside.strip() in ("", "void"):
        return 0
    return count + (not inside.rstrip().endswith("..."))


def measure(lines, signature, first, end):
    body = lines[first:end + 1]
    code = [s for s in body if s.strip() and not s.startswith("#")]
    tabs = max(len(s) - len(s.lstrip("\t")) for s in code)
    return {
        "lines": end - first + 1,
        "parameters": parameters(signature),
        "nesting": max(tabs - 1, 0),
        "complexity": 1 + sum(len(BRANCH.findall(s)) for s in code),
    }


def check_functions(path, waived):
    text = lint.blank(lint.read(path))
    lines = text.split("\n")
    for name, signature, first, end in lint.functions(text):
        for rule, value in measure(lines, signature, first, end).items():
            if value > LIMITS[rule] and not waived(f"{path}:{name}", rule):
                yield (rule, f"{path}:{first + 1}: {name} has {rule} {value},"
                       f" limit {LIMITS[rule]}")


def check_lines(path):
    for number, line in enumerate(lint.read(path).split("\n"), 1):
        if len(line.expandtabs(8)) > WIDTH:
            yield f"{path}:{number}: wider than {WIDTH} columns"
        if line != line.rstrip():
            yield f"{path}:{number}: blanks at the end"


def main():
    waivers = lint.Waivers(set(LIMITS))
    results = {rule: [] for rule in [*LIMITS, "width"]}
    for path in lint.files("src", "include", ends=(".c", ".h")):
        count = lint.read(path).count("\n")
        limit = FILE_LINES[path[-2:]]
        if count > limit:   # a warning: one concept is worth a long file
            print(f"# {path}: {count} lines, wanted at most {limit}")
        for rule, finding in check_functions(path, waivers.has):
            results[rule].append(finding)
    for path in lint.files("src", "include", "test"):
        results["width"] += check_lines(path)
    results["waivers"] = waivers.findings()
    lint.finish(results)


main()
