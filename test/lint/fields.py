#!/usr/bin/python3
# fields.py - what becomes of each field of a session, where a session goes on.
# SPDX-License-Identifier: ISC
"""From struct client and struct server on, each struct that a field leads to
has rows in snapshot_fields.c, or a reason here. What a row says is MOVED is
written and read for -R, and, where a move between workers makes the struct
anew, there too."""
import re

import lint

ROWS = "src/transfer/snapshot_fields.c"
ROOTS = ["client", "server"]
ROW = re.compile(r"\b[XA]\((\w+), (\w+),\s*((?:[^()]|\([^()]*\)|"
                 r"\((?:[^()]|\([^()]*\))*\))*)\)")
STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\}", re.M | re.S)
FIELD = re.compile(r"(\w+)\s*(\[[^\]]*\])?\s*(?:,|$)")

# Structs without rows: why none is needed.
REASONS = {
    # made anew by the process, or by the pool
    "loop": "made", "loop_socket": "made", "loop_task": "made",
    "stream_ops": "made", "transport": "made", "flow": "made",
    "hold": "made", "overflow": "its bytes: stream_copy_queued()",
    "sessions": "made", "pool": "made", "database": "found by its name",
    "user": "found by its name", "client_role": "the relay's alone",
    "log_who": "made", "timeout": "made", "cursor_node": "made",
    "evict_place": "made", "track_ops": "made", "prepared_table": "made",
    "listener": "made",
    "vacancy": "asked for again",
    "roamer": "of moves alone", "channel": "found by its name",
    # such a session is not handed over
    "login": "none is left", "console": "stays", "cancel_request": "stays",
    "auth_fetch": "none is left",
    "server_attempt": "none is left", "err": "it fails", "tls": "stays", "gssenc": "stays",
    "flight": "stays until it is over",
    # of values, which its own module writes
    "params": "params_list_write()", "baggage": "put_baggage()",
    "net_addr": "put_addr()", "slots": "walked", "writer": "its bytes",
    "slow_query": "slow_text()", "custom": "put_names()",
    "custom_count": "asked again",
    "relay_reset_text": "save_texts()",
    # not of the session
    "relay_watch_long": "its server is closed",
    "prepared_world": "prepared again", "keep_text": "asked instead",
}
# Where a session is written, and read.
SAVES = ["src/transfer/snapshot.c", "src/session/relay_state.c",
         "include/transfer/snapshot_parts.h"]
LOADS = ["src/transfer/snapshot_load.c",
         "src/session/relay_state.c", "include/transfer/snapshot_parts.h"]
# What is MOVED by another name.
OTHERWISE = {
    "stream": {"socket": "the descriptor", "fd": "the descriptor",
               "over": "stream_copy_queued()"},
    "client": {"slow": "slow_text()", "welcomed": "SNAPSHOT_WELCOME"},
    "pool_server": {"cancels": "such a server is closed"},
    "track": {"count": "of the list"}, "prepared_uses": {"lru": "the list"},
    "server": {"cancel_wanted": "canceler_is_wanted()"},
    "trace": {"lone": "marked"},
    "dialect": dict.fromkeys(["trails", "unseen", "astray", "pending",
                              "inside"], "schema_changed") |
               {"parsed": "such a server is closed"},
    "subscription": {"channel": "its name", "is": "asked for again"},
}
# What a move between workers makes anew, by which file.
ANEW = {"prepared_name": ["src/transfer/client_move.c"],
        "prepared": ["src/transfer/client_move.c",
                     "src/transfer/server_move.c"],
        "prepared_use": ["src/transfer/server_move.c"],
        "params_origin": ["src/transfer/server_move.c"]}
# What these need not write, and why.
STAYS = {
    ("server_move.c", "prepared", "retired"): "all are, there",
    ("server_move.c", "prepared", "unsure"): "all are retired, there",
    ("server_move.c", "params_origin", "silent"): "stays in the server",
}


def structs():
    """{struct: its text} of all headers"""
    found = {}
    for path in lint.files("include", ends=".h"):
        for name, body in STRUCT.findall(lint.blank(lint.read(path))):
            found[name] = body
    return found


def fields(body):
    """[(field, the struct that it is or leads to, or None)]; of a struct
    within, its fields"""
    body = re.sub(r"\bstruct \{(.*?)\} (\w+);", r"\1", body, flags=re.S)
    for line in body.split(";"):
        line = " ".join(line.split())
        if line == "UT_hash_handle hh":
            yield "hh", None
            continue
        call = re.match(r"[^()]*\(\*(\w+)\)\(", line)
        if call:
            yield call.group(1), None
            continue
        kind = re.match(r"(?:const |volatile )*(?:struct (\w+)|enum \w+|"
                        r"unsigned(?: \w+)?|\w+)[ *]*(?:const )?", line)
        if not kind or not line:
            continue
        for name, length in FIELD.findall(line[kind.end():]):
            if length != "[]":
                yield name, kind.group(1)


def rows():
    """{struct: {field: what its row says}}"""
    found = {}
    for struct, field, rest in ROW.findall(lint.read(ROWS)):
        found.setdefault(struct, {})[field] = " ".join(
            rest.replace("\\", " ").split())
    return found


def compare(all_structs, table):
    """Each struct that is reached has rows, and each of its fields one."""
    todo, seen = list(ROOTS), set(ROOTS)
    while todo:
        name = todo.pop()
        if name not in table:
            if name not in REASONS:
                yield f"{ROWS}: no rows of struct {name}, nor a reason here"
            continue
        if name in REASONS:
            yield f"test/lint/fields.py: struct {name} has rows"
        within = within_of(all_structs[name])
        for field, leads in fields(all_structs[name]):
            if field not in table[name] and field not in within:
                yield f"{ROWS}: no row of {name}.{field}"
            if leads and leads not in seen:
                seen.add(leads)
                todo.append(leads)
    for name in sorted(REASONS.keys() - seen):
        yield f"test/lint/fields.py: no session leads to struct {name}"


def within_of(body):
    """The fields of structs that have no name: by the row of the whole."""
    found = set()
    for inner, _ in re.findall(r"\bstruct \{(.*?)\} (\w+);", body, re.S):
        found.update(f for f, _ in fields(inner))
    return found


def written(all_structs, table):
    """What is MOVED is named where sessions are written and read."""
    texts = {where: " ".join(lint.blank(lint.read(p)) for p in paths)
             for where, paths in (("written", SAVES), ("read", LOADS))}
    for struct, fields_of in table.items():
        names = [f for f, what in fields_of.items() if what == "MOVED"]
        names += within_of(all_structs[struct])
        for field in names:
            lacks = [where for where, text in texts.items()
                     if not re.search(rf"\b{field}\b", text)]
            known = field in OTHERWISE.get(struct, {})
            if lacks and not known:
                yield (f"{ROWS}: {struct}.{field} is MOVED, and not "
                       f"{' and '.join(lacks)}")
            elif known and not lacks:
                yield (f"test/lint/fields.py: {struct}.{field} needs no other "
                       "name")


def moved(table):
    used = set()
    for struct, paths in ANEW.items():
        for path in paths:
            text = lint.blank(lint.read(path))
            for field, what in table[struct].items():
                why = (path.rsplit("/", 1)[1], struct, field)
                if what != "MOVED" or re.search(rf"\b{field}\b", text):
                    continue
                if why in STAYS:
                    used.add(why)
                else:
                    yield f"{path}: {struct}.{field} is lost by a move"
    for why in sorted(STAYS.keys() - used):
        yield f"test/lint/fields.py: {'.'.join(why)} needs no reason"


def main():
    all_structs, table = structs(), rows()
    lint.finish({
        "each field of a session has a row": list(compare(all_structs, table)),
        "what moves is written and read": list(written(all_structs, table)),
        "a move between workers loses nothing": list(moved(table)),
    })


if __name__ == "__main__":
    main()
