# perf_script.py - what "perf script" prints, as stacks.
# SPDX-License-Identifier: ISC
#
# A sample is a line with a thread and a time, a line per frame from the innermost
# on, and an empty line. Names come from any program: nothing is taken for granted of
# them. A character here is a byte of theirs.
import re

FIELDS = "tid,time,ip,sym,dso"
FRAMES_MAX = 127    # as the kernel's usual limit
NAME_MAX = 159
MODULE_MAX = 79
STACK_MAX = FRAMES_MAX * 64
STACKS_MAX = 200000
LINE_MAX = 1023

UNKNOWN = "[unknown]"
NO_KERNEL = (UNKNOWN, "[vdso]", "[vsyscall]", "[heap]", "[stack]", "[anon]",
             "[uprobes]")
# Of the compiler and the C library.
SUFFIXES = (".cold", ".constprop", ".isra", ".localalias", ".lto_priv", ".part",
            "@")
VERSIONS = (".so", " (deleted)")
# What has a meaning in a folded stack.
CLEAN = {ord(";"): ":", 0x7f: "?", **dict.fromkeys(range(32), "?")}
SAMPLE = re.compile(r" *([0-9]{1,12})(?![0-9]) *([0-9]{1,12})(?![0-9])"
                    r"\.([0-9]*)")
FRAME = re.compile(r"[\t ]*[^ ]* *(.*)", re.S)
FILE = re.compile(r" \((?=[/[])")


class Stacks:
    """Calls that were seen, folded: "main;loop_run;recv", and how often."""

    def __init__(self):
        self.all = {}       # text, the outermost first: weight
        self.weight = 0     # of all, those beyond the cap too
        self.times = 0
        self.homeless = 0   # weight of stacks beyond the cap

    def add(self, text, weight):
        self.weight += weight
        self.times += 1
        if text not in self.all and len(self.all) >= STACKS_MAX:
            self.homeless += weight
        else:
            self.all[text] = self.all.get(text, 0) + weight

    def sort(self):
        """As a tree is walked: the same beginnings are together."""
        self.all = dict(sorted(self.all.items(),
                               key=lambda s: s[0].replace(";", "\1")))


def cut_at(text, texts):
    """Up to where one of the texts begins, behind the first character."""
    for one in texts:
        at = text.find(one, 1)
        if at >= 0:
            text = text[:at]
    return text


def module_of(file):
    """"/usr/lib/libc.so.6" is libc: a file's name, without its version."""
    if file not in NO_KERNEL and (file.startswith("[") or ".ko" in file):
        return "kernel"
    name = cut_at(file.rpartition("/")[2], VERSIONS)
    return name.translate(CLEAN)[:MODULE_MAX]


def name_of(symbol, file, program):
    """
    "function" of the program, "kernel:function", "libc:function", "[libc]" for
    one without a name. file is what perf has in parentheses.
    """
    module = module_of(file)
    if symbol == UNKNOWN:
        return module if module.startswith("[") else f"[{module}]"
    name = cut_at(symbol, SUFFIXES).translate(CLEAN)
    if file != UNKNOWN and module != program:
        name = f"{module}:{name}"
    return name[:NAME_MAX]


def frame_of(line, program):
    """"\\t  14fdc name of a function (/usr/bin/dash)\""""
    line = re.split("[\r\n]", line[:LINE_MAX], maxsplit=1)[0]
    symbol, file = FRAME.fullmatch(line)[1], UNKNOWN
    places = [m.start() for m in FILE.finditer(symbol)]
    if places:
        file = symbol[places[-1] + 2:].removesuffix(")") or UNKNOWN
        symbol = symbol[:places[-1]]
    return name_of(symbol or UNKNOWN, file, program)


def fold(names):
    """Innermost first, as one text with the outermost first."""
    size, kept = 1, []
    for name in names:      # the innermost ones that there is room for
        size += len(name) + 1
        if size > STACK_MAX:
            break
        kept.append(name)
    # where frame pointers end there may be anything
    while len(kept) > 1 and kept[-1] == UNKNOWN:
        kept.pop()
    return ";".join(reversed(kept)) or UNKNOWN


class Reader:
    """
    away: 0: each sample counts one. Else the samples are changes of threads:
    counted is the time from the change away from this thread to the next change to
    it.
    """

    def __init__(self, program, away=0):
        self.stacks = Stacks()
        self.program = program
        self.away = away
        self.names = None   # of the open sample; None: there is none
        self.thread = self.at = 0
        self.left = 0       # when the thread left; 0: it is here
        self.stack = ""     # where it left

    def end(self):
        if self.names is None:
            return
        names, self.names = self.names, None
        if self.away and self.thread != self.away:
            if self.left and self.at > self.left:
                self.stacks.add(self.stack, self.at - self.left)
            self.left = 0
            return
        self.stack = fold(names)
        if self.away:
            self.left = self.at
        else:
            self.stacks.add(self.stack, 1)

    def begin(self, line):
        self.end()
        m = SAMPLE.match(line)
        if m:   # else perf says something else
            self.names = []
            self.thread = int(m[1])
            self.at = int(m[2]) * 10**6 + int((m[3] + "000000")[:6])

    def line(self, line):
        """With or without its line end."""
        if line.startswith("\t"):
            if self.names is not None and len(self.names) < FRAMES_MAX:
                self.names.append(frame_of(line, self.program))
        elif not line.strip(" \r\n"):
            self.end()
        elif not line.startswith("#"):
            self.begin(line)


def read(lines, program, away=0):
    """The sorted stacks of these lines."""
    reader = Reader(program, away)
    for line in lines:
        reader.line(line)
    reader.end()
    reader.stacks.sort()
    return reader.stacks
