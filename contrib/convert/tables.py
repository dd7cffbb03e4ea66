# tables.py - reads what pgcat.toml is made of.
# SPDX-License-Identifier: ISC
#
# tomllib tells no lines, and remarks need them. So the text is read twice: as a
# whole, which decides what is TOML, and statement by statement, each of which
# ends with a line.
import re
import tomllib

from facts import Fact, Facts, fail

PLACE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)")


def load(text):
    # floats as they stand there
    return tomllib.loads(text, parse_float=lambda s: s.replace("_", ""))


def check(text):
    try:
        load(text)
    except tomllib.TOMLDecodeError as e:
        what = str(e)
        place = PLACE.search(what)
        line = place[1] if place and place[1] else \
            len(text.rstrip("\n").split("\n"))
        fail(line, PLACE.sub("", what))
    except RecursionError:
        fail(1, "nested too deeply")


def statements(text):
    """(its first line, its lines, what they say) of each."""
    begin, chunk = 1, []
    for number, line in enumerate(text.split("\n"), 1):
        chunk.append(line)
        try:
            found = load("\n".join(chunk))
        except tomllib.TOMLDecodeError:
            continue    # it goes on in the next line
        yield begin, chunk, found
        begin, chunk = number + 1, []


def word(value):
    """A scalar as an ini file has it."""
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else str(value)


def push(scope, key):
    return scope + (key,) if scope or key else scope


def flatten(scope, table):
    """(scope, key, value) of each scalar in it."""
    for key, value in table.items():
        todo = [value]
        while todo:
            item = todo.pop(0)
            if isinstance(item, list):
                todo[:0] = item
            elif isinstance(item, dict):
                yield from flatten(push(scope, key), item)
            else:
                yield scope, key, word(item)


def count_until(lines):
    """How many scalars stand in the first lines of an array; or None."""
    text = "\n".join(lines) + "\n"
    for depth in range(text.count("[") + 1):
        try:
            return len(list(flatten((), load(text + "]" * depth))))
        except tomllib.TOMLDecodeError:
            pass
    return None     # in a string of several lines


def lines_of(begin, chunk, count):
    """The line of each of the scalars of a statement."""
    lines = []
    for n in range(1, len(chunk)):
        so_far = count_until(chunk[:n]) or 0
        lines += [begin + n - 1] * (so_far - len(lines))
    return lines + [begin + len(chunk) - 1] * (count - len(lines))


def header(table):
    """The scope of [a.b.c]."""
    scope = ()
    while table:
        (key, table), = table.items()
        scope = push(scope, key)
    return scope


def read(text):
    """
    Facts: tables and inline tables are scopes; each item of an array, and of an
    array in it, is a fact of its own with the array's key. Arrays of tables are
    refused.
    """
    facts, table = Facts(), ()
    text = text.replace("\r\n", "\n")
    check(text)
    for begin, chunk, found in statements(text):
        first = chunk[0].lstrip(" \t")
        if first.startswith("[["):
            fail(begin, "an array of tables")
        if first.startswith("["):
            table = header(found)
            continue
        said = list(flatten(table, found))
        for fact, line in zip(said, lines_of(begin, chunk, len(said))):
            facts.add(Fact(*fact, line))
    return facts
