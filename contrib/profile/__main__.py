# __main__.py - pgsluicectl profile: where the time goes.
# SPDX-License-Identifier: ISC
#
#   python3 -IB -X utf8 FOLDER_OF_THIS_FILE [NAME VALUE]...
#
# pgsluicectl has looked at the options, and read of which pidfile the process is.
import errno
import os
import re
import sys

import perf
import reasons
import target
from flame import Flame, decoded
from perf import Refused

FUNCTIONS = 15      # in the table
NAMELESS = 30       # percent: more is worth a word
ADVICE = """
Many functions have no name here: install the debug symbols (Debian:
pgsluice-dbgsym), and run this as root for those of the kernel.
"""
# Controls, what moves the text around it, and bytes that are no UTF-8.
UNPRINTABLE = re.compile("[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e"
                         "\u2066-\u2069\udc80-\udcff]")
DONE, FAILED = 0, 1


def printable(text):
    return UNPRINTABLE.sub(lambda m: {"\n": "\\n", "\t": "\\t"}.get(
        m[0], "".join(f"\\x{byte:02x}" for byte in m[0].encode(
            errors="surrogateescape"))), text)


def leaf(stack, outside_kernel):
    """The innermost function; or the one that called into the kernel."""
    names = stack.split(";")
    while outside_kernel and len(names) > 1 and \
            names[-1].startswith("kernel:"):
        names.pop()
    return names[-1]


class Report:
    def __init__(self, stacks, title, took, off_cpu):
        self.stacks, self.title = stacks, title
        self.took, self.off_cpu = took, off_cpu

    def head(self):
        s = self.stacks
        return f"{printable(self.title)}: {self.took:.1f} s, " + (
            f"of these {s.weight / 1e6:.1f} s away from the CPU, {s.times} "
            "times\n" if self.off_cpu else f"{s.weight} samples, which is "
            f"{100 * s.weight / perf.HZ / self.took:.0f} % of a CPU\n")

    def rows(self, weights):
        """Those with the most weight first, and none without."""
        for name, weight in sorted(weights.items(), key=lambda r: -r[1]):
            if weight > 0:
                amount = f"{weight / 1000:10.1f} ms" if self.off_cpu else \
                    f"{weight:8d}"
                yield (f"{100 * weight / self.stacks.weight:6.1f} %  {amount}  "
                       f"{printable(decoded(name))}\n")

    def leaves(self):
        found = {}
        for stack, weight in self.stacks.all.items():
            name = leaf(stack, self.off_cpu)
            found[name] = found.get(name, 0) + weight
        return found

    def lines(self):
        yield self.head()
        yield "\nBy reason\n"
        yield from self.rows(reasons.sums(self.stacks, self.off_cpu))
        # all waits are in the same few functions of the kernel
        yield "\nBy function, the innermost%s\n" % (
            " outside the kernel" if self.off_cpu else "")
        leaves = self.leaves()
        yield from list(self.rows(leaves))[:FUNCTIONS]
        nameless = sum(weight for name, weight in leaves.items()
                       if name.startswith("["))
        # a profile of many functions without a name tells little
        if not self.off_cpu and \
                100 * nameless / self.stacks.weight > NAMELESS:
            yield ADVICE

    def folded(self):
        """A line each, as flame graph programs read them."""
        return "".join(f"{stack} {weight}\n" for stack, weight
                       in self.stacks.all.items()).encode("latin-1")

    def svg(self):
        where = "away from" if self.off_cpu else "on"
        title = f"{self.title}: {where} the CPU, {self.took:.1f} s"
        flame = Flame(self.stacks, *(("ms", 1000) if self.off_cpu else
                                     ("samples", 1)))
        return flame.svg(title.encode(
            errors="surrogateescape").decode("latin-1")).encode()

    def save(self, folder):
        """on-cpu.folded, on-cpu.svg in the folder, or off-cpu."""
        name = "off-cpu" if self.off_cpu else "on-cpu"
        for ending, text in (("folded", self.folded()), ("svg", self.svg())):
            path = os.path.join(folder, f"{name}.{ending}")
            try:
                create(path, text)
            except OSError as e:
                raise Refused(f'could not write "{path}": '
                              f"{e.strerror}") from e


def create(path, text):
    """A new file: no link that somebody left there is followed."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666),
              "wb") as f:
        f.write(text)


def prepare(folder):
    """Make the folder, if it is not there, and see that it takes files."""
    try:
        os.mkdir(folder)
    except FileExistsError:
        pass
    except OSError as e:
        raise Refused(f'could not make the folder "{folder}": '
                      f"{e.strerror}") from e
    why = None if os.access(folder, os.W_OK | os.X_OK) else errno.EACCES
    if not os.path.isdir(folder):
        why = errno.ENOTDIR
    if why:
        raise Refused(f'could not write into "{folder}": {os.strerror(why)}')


def record(options, pid, program):
    with perf.Perf(pid, options.seconds, options.off_cpu) as p:
        if sys.stderr.isatty():
            print(f"looking at process {pid} for {options.seconds:.1f} s, "
                  "Ctrl-C ends it early ...", file=sys.stderr)
        p.record()
        stacks = p.read(program)
    if stacks.weight == 0 and not target.lives(pid):
        raise Refused(f"process {pid} ended before anything was seen of it")
    if stacks.weight == 0:
        did = "never left the CPU and came back" if options.off_cpu else \
            "did not run"
        raise Refused(f"no samples: process {pid} {did} in {p.took:.1f} s")
    if p.interrupted:
        print("(ended early)", file=sys.stderr)
    if not target.lives(pid):
        print("(the process has ended meanwhile)", file=sys.stderr)
    return Report(stacks, f"{program}, process {pid}", p.took,
                  options.off_cpu)


def run(options):
    pid = target.find(options.pid, options.pidfile, options.pattern)
    program = target.program_of(pid)
    if options.output is not None:
        prepare(options.output)
    report = record(options, pid, program)
    sys.stdout.writelines(report.lines())
    sys.stdout.flush()
    if options.output is not None:
        report.save(options.output)


class Options:
    """Pairs of a name and a value, as pgsluicectl says them."""

    def __init__(self, args):
        said = dict(zip(args[::2], args[1::2]))
        self.seconds = float(said.get("seconds", "10"))
        self.pid = int(said.get("pid", "0"))    # 0: find one
        self.pidfile = said.get("pidfile")
        self.pattern = said.get("pattern")
        self.off_cpu = "off-cpu" in said
        self.output = said.get("output")


def main(args):
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    try:
        run(Options(args))
    except Refused as e:
        lines = re.split("([\n\t])", f"pgsluicectl: {e}")
        print("".join(s if s in "\n\t" else printable(s) for s in lines),
              file=sys.stderr)
        return FAILED
    except OSError as e:
        # the reader who closed stdout knows
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if e.errno != errno.EPIPE:
            print(f"pgsluicectl: could not write: {e.strerror}",
                  file=sys.stderr)
        return FAILED
    return DONE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
