#!/usr/bin/python3
# banned.py - what we don't write, and where the exceptions live.
# SPDX-License-Identifier: ISC
import re

import lint

C = ("src", "include", "test")
CODE = ("src", "include")

# name, folders, pattern, the file that may, or those, or None
RULES = [
    ("unbounded", C,
     r"\b(?:strcpy|stpcpy|strcat|strncat|v?sprintf|gets|strtok|alloca)\s*\(",
     None),
    ("numbers", CODE,
     r"\b(?:ato(?:i|l|ll|f)|strto(?:l|ul|ll|ull|imax|umax|d|f)|[fs]?scanf)"
     r"\s*\(", "src/base/num.c"),
    ("allocation", CODE,
     r"(?<![\w.>])(?:malloc|calloc|realloc|reallocarray|strdup|strndup"
     r"|v?asprintf|free)\s*\(", "src/base/mem.c"),
    ("clock", CODE,
     r"(?<![\w.>])(?:time|gettimeofday|clock_gettime)\s*\(",
     "src/base/time.c"),
    ("processes", CODE, r"(?<![\w.>])(?:system|popen)\s*\(", None),
    ("typedef", CODE, r"\btypedef\s+(?:struct|union)\b", None),
    ("extern", CODE, r"(?m)^\s*extern\s+(?!\"C\")[^;(]*;", None),
    ("global", CODE,
     r"(?m)^(?:static|_Thread_local)\s(?![^;=({]*\bconst\b)[^;=(]*[;=]",
     None),
    # what a server is about changes by server_set_phase()
    ("phase", CODE, r"(?:->|\.)phase\s*=(?!=)", "src/session/server.c"),
    ("own_query", CODE, r"(?:->|\.)own_query\s*=(?!=)", "src/session/server.c"),
    # what not every system has, each in the file that configure chooses
    ("epoll", CODE, r"\bepoll_\w+\s*\(|\bEPOLL[A-Z]\w*",
     "src/io/poller_epoll.c"),
    ("calls of Linux", CODE,
     r"(?<![\w.>])(?:accept4|close_range|eventfd|inotify_\w+|mremap|pipe2|prctl"
     r"|sched_\w+|signalfd|splice|syscall|timerfd_\w+)\s*\("
     r"|\b(?:F_SETPIPE_SZ|MSG_CMSG_CLOEXEC|MSG_ERRQUEUE|MSG_MORE|MSG_TRUNC"
     r"|MSG_ZEROCOPY|SOCK_CLOEXEC|SOCK_NONBLOCK)\b", "src/base/os_linux.c"),
    ("credentials", CODE,
     r"\b(?:SCM_CREDENTIALS|SO_PASSCRED|SO_PEERCRED|ucred)\b",
     "src/base/os_peer_ucred.c"),
    ("options of Linux", CODE,
     r"\b(?:IP_MINTTL|POLLRDHUP|SO_(?:AT|DE)TACH_FILTER|SO_DOMAIN"
     r"|SO_PROTOCOL|TCP_DEFER_ACCEPT)\b",
     ("src/io/socket_linux.c", "src/io/socket_posix.c")),
    ("glibc", CODE,
     r"(?<![\w.>])(?:backtrace\w*|malloc_trim|on_exit|pthread_sigqueue"
     r"|sem_clockwait)\s*\(",
     ("src/base/os_gnu.c", "src/io/stack.c")),
    # where such a file is missing, what it says is not known
    ("proc", CODE, r"/proc/",
     ("src/base/ceiling.c", "src/base/os_linux.c", "src/conf/memory_limit.c",
      "include/conf/memory_limit.h", "src/ctl/program.c",
      "src/ctl/orders.c")),
    ("unfinished", C,
     r"(?i)\b(?:TODO|FIXME|XXX|not implemented|not yet implemented)\b", None),
]
SLEEP = re.compile(r"\b(?:time\.sleep|asyncio\.sleep|u?sleep|nanosleep)\s*\(")


def check(rule, waivers):
    name, folders, pattern, home = rule
    for path in lint.files(*folders):
        if path in (home if isinstance(home, tuple) else (home,)):
            continue
        text = lint.read(path)
        # these stand in comments and strings
        if name not in ("unfinished", "proc"):
            text = lint.blank(text)
        for match in re.finditer(pattern, text):
            if waivers.has(path, name):
                break
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: {match.group().strip()}"


def check_conditionals():
    """Features choose files and tables, not lines of a function."""
    for path in lint.files("src", ends=".c"):
        lines = lint.blank(lint.read(path)).split("\n")
        for name, _, first, end in lint.functions("\n".join(lines)):
            if any(re.match(r"\s*#\s*(?:if|el)", s)
                   for s in lines[first:end]):
                yield f"{path}:{first + 1}: {name} has #if inside"


def check_sleeps():
    for path in lint.files("test", ends=(".py", ".c", ".sh")):
        for number, line in enumerate(lint.read(path).split("\n"), 1):
            if SLEEP.search(line) and path != "test/lint/banned.py" \
                    and not path.startswith(("test/bench/", "test/study/")):
                yield f"{path}:{number}: wait on a condition, don't sleep"


def main():
    waivers = lint.Waivers({rule[0] for rule in RULES})
    results = {rule[0]: list(check(rule, waivers)) for rule in RULES}
    results["conditionals"] = list(check_conditionals())
    results["sleeps in tests"] = list(check_sleeps())
    results["waivers"] = waivers.findings()
    lint.finish(results)


main()
