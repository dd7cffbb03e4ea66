#!/usr/bin/python3
# covered.py - each setting, key and command-line option has a test.
# SPDX-License-Identifier: ISC
"""A test of test/system or test/sim says what it shows the effect of:

    @pytest.mark.setting("pool_size", "reserve_pool_size")
    @pytest.mark.database("host")       a key of [databases]
    @pytest.mark.user("pool_mode")      of [users]
    @pytest.mark.peer("port")           of [peers]
    @pytest.mark.option("--daemon")     of the command line

or `pytestmark = [...]` for a whole file; a unit test that shows more than
a system test could has the line `/* shows setting: syslog, syslog_ident */`
before it. `covered.py --table` prints who covers what."""
import ast
import re
import sys

import lint

SHOWS = re.compile(r"^/\* shows (\w+): ([\w, -]+) \*/\n"
                   r"static void (test_\w+)", re.M)
KINDS = {
    "setting": ("include/conf/options.def", r"^OPTION\(\s*\w+\s*,\s*(\w+)"),
    "database": ("src/conf/config_entry.c", "db_key_rows"),
    "user": ("src/conf/config_entry.c", "user_key_rows"),
    "peer": ("src/conf/config_entry.c", "peer_key_rows"),
    "option": ("src/app/main.c", r'^\t\{ "(\w+)", \w+, NULL'),
}


def known(kind):
    """The names there are, as the program has them."""
    path, how = KINDS[kind]
    text = lint.read(path)
    if how.endswith("_rows"):
        body = re.search(rf"{how}\[\] = \{{(.*?)^\}};", text, re.M | re.S)
        return re.findall(r'^\t\{ "(\w+)"', body.group(1), re.M)
    names = re.findall(how, lint.blank(text, strings=kind != "option"), re.M)
    return ["--" + n for n in names] if kind == "option" else names


def marks(node):
    """(kind, name, line) of the marks in an expression."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and \
                isinstance(call.func, ast.Attribute) and \
                call.func.attr in KINDS and \
                ast.unparse(call.func).startswith("pytest.mark."):
            for arg in call.args:
                yield call.func.attr, ast.literal_eval(arg), call.lineno


def marked(path):
    """(kind, name, line, test) of each mark in a test file."""
    for node in ast.parse(lint.read(path)).body:
        if isinstance(node, ast.FunctionDef):
            for mark in node.decorator_list:
                for found in marks(mark):
                    yield *found, node.name
        elif isinstance(node, ast.Assign) and \
                ast.unparse(node.targets[0]) == "pytestmark":
            for found in marks(node.value):
                yield *found, "all"


def told(path):
    """The same of a unit test."""
    text = lint.read(path)
    for match in SHOWS.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        for name in re.split(r",\s*", match.group(2)):
            yield match.group(1), name, line, match.group(3)


def collect():
    """{(kind, name): [tests]}, in the order of the program; findings."""
    table = {(k, n): [] for k in KINDS for n in known(k)}
    bad = []
    found = [(path, *row) for path in lint.files(
        "test/system", "test/sim", ends=(".py",)) for row in marked(path)]
    found += [(path, *row) for path in lint.files("test/unit", ends=(".c",))
              for row in told(path)]
    for path, kind, name, line, test in found:
        if (kind, name) in table:
            table[kind, name].append(f"{path}:{test}")
        else:
            bad.append(f"{path}:{line}: there is no {kind} {name}")
    return table, bad


def main():
    table, bad = collect()
    if "--table" in sys.argv[1:]:
        for (kind, name), tests in table.items():
            print(f"{kind:8} {name:28} {' '.join(tests) or '-'}")
        return
    missing = [f"{KINDS[k][0]}: no test is marked {k}({n!r})"
               for (k, n), tests in table.items()
               if not tests]
    lint.finish({
        "marks name what there is": bad,
        "everything has a test": missing,
    })


main()
