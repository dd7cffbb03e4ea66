"""Runs workloads side by side, rounds interleaved, and prints their cost.

What counts is the pooler's own CPU time per transaction (user and system, all
its threads and children): unlike tps it does not depend on who else shares the
cores.  Rounds are short and many, and each is compared with the same round of
the base, which ran within the same few seconds: what slows down the machine
for longer than that slows down both.  The ratio is the median of these.
SPDX-License-Identifier: ISC
"""
import argparse
import statistics
import sys
from math import sqrt
from typing import NamedTuple

import proc
from stand import FLOORS
from verdict import number
from workloads import WORKLOADS, Failure, Rows, call


class Pooler(NamedTuple):
    name: str
    port: int
    pid: int


class Cost(NamedTuple):
    """What one round came to."""
    us: float       # CPU time per unit of work
    rate: float     # units per second
    latency: float  # milliseconds


def pooler_arg(text):
    try:
        name, rest = text.split("=")
        port, pid = map(int, rest.split(":"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=PORT:PID")
    if not proc.alive(pid):
        raise argparse.ArgumentTypeError(f"{name}: no process {pid}")
    return Pooler(name, port, pid)


def warm_up(pooler):
    """Server connections are opened before anything is counted."""
    try:
        call(["pgbench", "-n", "-S", "-h", "127.0.0.1", "-p",
              str(pooler.port), "-c", "20", "-t", "20"], 10)
    except Failure as e:
        print(f"{pooler.name}: warm-up failed: {e}", file=sys.stderr)


def one_round(pid, run, seconds):
    """A Cost, or the text of what went wrong.

    run(0) connects and does as little as it can; what that costs is taken
    off, so that logins are in the figure only where they are the work.
    """
    marks = [proc.cpu_ns(pid)]
    try:
        first = run(0)
        marks.append(proc.cpu_ns(pid))
        done = run(seconds)
    except Failure as e:
        if proc.alive(pid):
            return str(e)
    if not proc.alive(pid):
        return f"process {pid} is gone"
    marks.append(proc.cpu_ns(pid))
    spent = marks[2] - 2 * marks[1] + marks[0]
    return Cost(spent / 1e3 / (done.count - first.count), done.rate,
                done.latency)


def interleave(runs, rounds):
    """{name: [Cost or text]} of {name: function}; who is first changes."""
    names, got = list(runs), {n: [] for n in runs}
    for i in range(rounds):
        k = i % len(names)
        for n in names[k:] + names[:k]:
            got[n].append(runs[n]())
    return got


def middle(values):
    """The median, and between what it lies with 90 % confidence."""
    values, n = sorted(values), len(values)
    k = max(0, int((n - 1.64 * sqrt(n)) / 2))
    return {"ratio": statistics.median(values), "low": values[k],
            "high": values[n - 1 - k]}


def summarize(got, base):
    """{name: row}; ratios to the base, round by round, where it has any."""
    rows = {}
    for name, rounds in got.items():
        ok = [r for r in rounds if isinstance(r, Cost)]
        row = rows[name] = {
            "errors": [r for r in rounds if isinstance(r, str)],
            "rounds": [r._asdict() for r in ok]}
        for key in Cost._fields if ok else ():
            row[key] = statistics.median(getattr(r, key) for r in ok)
        pairs = [a.us / b.us for a, b in zip(rounds, got.get(base, []))
                 if isinstance(a, Cost) and isinstance(b, Cost)]
        if pairs:
            row |= middle(pairs)
    return rows


def print_errors(row):
    for text in sorted(set(row["errors"])):
        n = row["errors"].count(text)
        print(f"    {n} round{'s' if n > 1 else ''} failed: {text}")


def print_row(name, row, limit="", mark=""):
    if "us" not in row:
        print(f"  {name:<16}{'-':>10}")
        return print_errors(row)
    ratio = f"{row['ratio']:>7.2f}  {row['low']:.2f}-{row['high']:.2f}" \
        if "ratio" in row else f"{'-':>7}{'-':>11}"
    print(f"  {name:<16}{row['us']:>10.2f}{ratio}{limit:>8}"
          f"{row['rate']:>9.0f}{row['latency']:>9.2f}{mark}")
    print_errors(row)


def print_table(figure, rows, unit, subject, verdicts):
    """One workload: a row each, and how the subject stands."""
    target = verdicts.target(figure)
    print(f"\n{figure:<18}{'CPU us/' + unit:>10}{'ratio':>7}{'90 %':>11}"
          f"{'target':>8}{unit + '/s':>9}{'ms':>9}")
    for name, row in rows.items():
        if name != subject:
            print_row(name, row)
            continue
        if row["errors"]:
            verdicts.fail(figure, row["errors"][0])
            mark = ""
        elif "ratio" in row:
            mark = verdicts.hold(figure, row["ratio"])
        else:
            verdicts.fail(figure, f"no {target.base} to compare with")
            mark = ""
        print_row(name, row, number(target.limit), mark)
    if target.reference:
        print(f"  (PgBouncer 1.25.2 in an earlier run: "
              f"{target.reference:.2f})")
    sys.stdout.flush()


def work_run(pooler, work, seconds, rows):
    """A function that runs one round of it."""
    def run(length):
        return work.run(pooler.port, length, rows)
    return lambda: one_round(pooler.pid, run, seconds)


def run_workloads(poolers, opt, verdicts):
    """Runs and prints them; returns {workload: {pooler: row}}."""
    result = {}
    for p in poolers:
        warm_up(p)
    with Rows(poolers[0].port, opt.copy_bytes) as rows:
        for name in opt.workloads:
            work = WORKLOADS[name]
            base = verdicts.target(name).base
            runs = {p.name: work_run(p, work, opt.seconds, rows)
                    for p in poolers
                    if p.name == work.floor or p.name not in FLOORS}
            rounds = min(opt.rounds, work.most_rounds)
            got = summarize(interleave(runs, rounds), base)
            result[name] = got
            print_table(name, got, work.unit, opt.subject, verdicts)
    return result
