#!/usr/bin/env python3
"""Side-by-side benchmark of PostgreSQL poolers, in one run, rounds interleaved.

  bench.py [options] NAME=PORT:PID [NAME=PORT:PID ...]

Each NAME is a running pooler on 127.0.0.1:PORT whose main process is PID.
What counts is the pooler's own CPU time per transaction (user and system, all
its threads and children): unlike tps it does not depend on who else shares the
cores.  Printed are medians over the rounds and, as "spread", half the distance
between the cheapest and the dearest round.  The ratio is to the pooler that the
file "targets" names for the workload, or to the first one where that is absent.
Exit status: 1 when a workload failed, or with --check when the subject missed a
target.  Environment: PGUSER, PGDATABASE, PGPASSWORD as for pgbench.
SPDX-License-Identifier: ISC
"""
import argparse
import json
import os
import statistics
import sys
from typing import NamedTuple, Optional

sys.dont_write_bytecode = True  # the source tree may be read-only

import proc
from workloads import IDLE_CLIENTS, WORKLOADS, Failure, Rows, call, \
    idle_memory

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = [*WORKLOADS, "idle"]  # idle last: its clients grow the slabs


class Pooler(NamedTuple):
    name: str
    port: int
    pid: int


class Target(NamedTuple):
    base: str
    target: Optional[float]
    goal: Optional[float]
    reference: Optional[float]


NO_TARGET = Target("-", None, None, None)


def pooler_arg(text):
    try:
        name, rest = text.split("=")
        port, pid = map(int, rest.split(":"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=PORT:PID")
    if not proc.alive(pid):
        raise argparse.ArgumentTypeError(f"{name}: no process {pid}")
    return Pooler(name, port, pid)


def workloads_arg(text):
    names = NAMES if text == "all" else text.split(",")
    for n in names:
        if n not in NAMES:
            raise argparse.ArgumentTypeError(
                f"{n!r} is none of {', '.join(NAMES)}")
    return names


def add_options(ap):
    """The options that "run" hands on."""
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--seconds", type=int, default=4,
                    help="length of a round")
    ap.add_argument("--workloads", type=workloads_arg, default=NAMES,
                    metavar="A,B", help="of: " + ", ".join(NAMES))
    ap.add_argument("--json", metavar="FILE",
                    help="write all rounds and medians here")
    ap.add_argument("--subject", default="pgsluice",
                    help="the pooler that has targets")
    ap.add_argument("--check", action="store_true",
                    help="fail when the subject misses a target")


def read_targets(path=os.path.join(HERE, "targets")):
    def value(s):
        return None if s == "-" else float(s)

    table = {}
    with open(path) as f:
        for line in f:
            fields = line.partition("#")[0].split()
            if fields:
                table[fields[0]] = Target(fields[1], *map(value, fields[2:]))
    return table


def warm_up(pooler):
    """Server connections are opened before anything is counted."""
    try:
        call(["pgbench", "-n", "-S", "-h", "127.0.0.1", "-p",
              str(pooler.port), "-c", "20", "-t", "20"], 10)
    except Failure as e:
        print(f"{pooler.name}: warm-up failed: {e}", file=sys.stderr)


def one_round(pooler, workload, seconds, rows):
    """One row of figures, or the text of what went wrong."""
    before = proc.cpu_ns(pooler.pid)
    try:
        done = WORKLOADS[workload].run(pooler.port, seconds, rows)
    except Failure as e:
        if proc.alive(pooler.pid):
            return str(e)
    if not proc.alive(pooler.pid):
        return f"process {pooler.pid} is gone"
    us = (proc.cpu_ns(pooler.pid) - before) / done.count / 1e3
    return {"us": us, "rate": done.rate, "latency": done.latency}


def all_rounds(poolers, workload, opt, rows):
    """Rounds interleaved; who is first changes with the round."""
    got = {p.name: [] for p in poolers}
    for i in range(opt.rounds):
        k = i % len(poolers)
        for p in poolers[k:] + poolers[:k]:
            got[p.name].append(one_round(p, workload, opt.seconds, rows))
    return got


def summarize(rounds):
    ok = [r for r in rounds if not isinstance(r, str)]
    errors = [r for r in rounds if isinstance(r, str)]
    row = {"rounds": ok, "errors": errors}
    if ok:
        for key in ok[0]:
            row[key] = statistics.median(r[key] for r in ok)
        cost = [r["us"] for r in ok]
        row["spread"] = (max(cost) - min(cost)) / 2 / row["us"] * 100
    return row


def set_ratios(rows, base):
    if "us" not in rows.get(base, {}):
        base = next((n for n in rows if "us" in rows[n]), None)
    for row in rows.values():
        if "us" in row:
            row["ratio"] = row["us"] / rows[base]["us"]
    return base


def column(value):
    return f"{'-' if value is None else format(value, '.2f'):>8}"


def verdict(row, value, limit):
    """Marks the row; returns the columns."""
    if limit is None:
        return ""
    row["met"] = value <= limit
    return "  met" if row["met"] else "  MISSED"


def print_errors(row):
    for text in sorted(set(row["errors"])):
        n = row["errors"].count(text)
        print(f"    {n} round{'s' if n > 1 else ''} failed: {text}")


def print_workload(workload, rows, target, subject):
    unit = WORKLOADS[workload].unit
    base = set_ratios(rows, target.base)
    print(f"\n{workload:<14}{'CPU us/' + unit:>10}{'spread':>8}{'ratio':>8}"
          f"{'target':>8}{'goal':>8}{unit + '/s':>10}{'lat ms':>9}")
    for name, row in rows.items():
        if "us" not in row:
            print(f"  {name:<12}{'-':>10}")
            print_errors(row)
            continue
        mine = target if name == subject else NO_TARGET
        comparable = base == target.base
        mark = verdict(row, row["ratio"], mine.target if comparable else None)
        print(f"  {name:<12}{row['us']:>10.2f}{row['spread']:>7.1f}%"
              f"{row['ratio']:>8.2f}{column(mine.target)}{column(mine.goal)}"
              f"{row['rate']:>10.0f}{row['latency']:>9.2f}{mark}")
        print_errors(row)
    if target.reference:
        print(f"  (PgBouncer 1.25.2 in an earlier run: "
              f"{target.reference:.2f})")


def run_idle(poolers, target, subject):
    """Once per process: what a slab has grown to, it keeps."""
    print(f"\n{'idle':<14}{'B/client':>10}{'target':>8}{'goal':>8}   "
          f"({IDLE_CLIENTS} clients, resident memory)")
    rows = {}
    for p in poolers:
        if p.name == "floor":   # would need a server for each
            continue
        row = rows[p.name] = {"errors": []}
        try:
            row["bytes"] = idle_memory(p.port, p.pid)
        except Failure as e:
            row["errors"].append(str(e))
            print(f"  {p.name:<12}{'-':>10}")
            print_errors(row)
            continue
        mine = target if p.name == subject else NO_TARGET
        mark = verdict(row, row["bytes"], mine.target)
        limits = "".join(f"{'-' if v is None else format(v, '.0f'):>8}"
                         for v in (mine.target, mine.goal))
        print(f"  {p.name:<12}{row['bytes']:>10.0f}{limits}{mark}")
    if target.reference:
        print(f"  (PgBouncer 1.25.2 in an earlier run: "
              f"{target.reference:.0f})")
    return rows


def bench(poolers, opt):
    """Runs and prints everything; returns {workload: {pooler: row}}."""
    targets, result, rows = read_targets(), {}, None
    for p in poolers:
        warm_up(p)
    for w in opt.workloads:
        target = targets.get(w, NO_TARGET)
        if w == "idle":
            result[w] = run_idle(poolers, target, opt.subject)
        else:
            if WORKLOADS[w].unit == "MB" and rows is None:
                rows = Rows(poolers[0].port)
            got = all_rounds(poolers, w, opt, rows)
            result[w] = {n: summarize(r) for n, r in got.items()}
            print_workload(w, result[w], target, opt.subject)
        sys.stdout.flush()
    return result


def exit_status(result, opt):
    """A failure of someone else's pooler is shown, but is not ours."""
    status, targets = 0, read_targets()
    for workload in opt.workloads:
        row = result[workload].get(opt.subject, {})
        if row.get("errors"):
            print(f"{opt.subject} failed in {workload}", file=sys.stderr)
            status = 1
        wanted = targets.get(workload, NO_TARGET).target
        if opt.check and wanted is not None and not row.get("met"):
            why = "missed" if "met" in row else "could not be held against"
            print(f"{opt.subject} {why} its target for {workload}",
                  file=sys.stderr)
            status = 1
    return status


def report(result, opt):
    if opt.json:
        with open(opt.json, "w") as f:
            json.dump(result, f, indent=1)
    return exit_status(result, opt)


def main():
    ap = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog=__doc__.partition("Each NAME")[1] +
        __doc__.partition("Each NAME")[2])
    add_options(ap)
    ap.add_argument("poolers", type=pooler_arg, nargs="+",
                    metavar="NAME=PORT:PID")
    opt = ap.parse_args()
    return report(bench(opt.poolers, opt), opt)


if __name__ == "__main__":
    sys.exit(main())
