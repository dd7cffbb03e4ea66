"""Poolers before clients that only ask and a server that answers at once (swarm.c).

So it is the pooler that is measured, and nobody else. Part "workers" of `run` is what
several workers cost and carry, how often they hand over servers, and how fair the queue
of a crowd is.
SPDX-License-Identifier: ISC
"""
import contextlib
import json
import os
import statistics
import subprocess
import time
from typing import NamedTuple

import proc
from crowd import raise_limit
from stand import HERE, StandError, free_port, pq

POOL_SIZE = 20
START_LIMIT = 60

INI = """
[databases]
{databases}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {dir}/userlist.txt
server_tls_sslmode = disable
admin_users = swarm
server_login_retry = 0
client_tls_sslmode = allow
client_tls_cert_file = {dir}/server.crt
client_tls_key_file = {dir}/server.key
pool_mode = transaction
default_pool_size = {pool_size}
max_client_conn = 12000
log_connections = 0
log_disconnections = 0
log_stats = 0
"""


class Way:
    """A pooler, be it one process or several."""

    def __init__(self, name, settings, workers=1, processes=1):
        self.name, self.settings = name, settings
        self.workers, self.processes = workers, processes

    def start(self, stand, pooler, databases, stub_port):
        self.port = free_port()
        lines = "".join(f"s{i} = host=127.0.0.1 port={stub_port}\n"
                        for i in range(databases))
        self.pids = []
        for i in range(self.processes):
            ini = stand.write(f"{self.name} {i}.ini", INI.format(
                databases=lines, port=self.port, dir=stand.dir,
                pool_size=POOL_SIZE // self.processes) + self.settings)
            self.pids.append(
                stand.spawn(f"{self.name} {i}", [pooler, ini]).pid)
        for i in range(self.processes):
            wait_for_line(stand, f"{self.name} {i}", "process up")

    def stop(self, stand):
        for i in range(self.processes):
            stand.stop(f"{self.name} {i}")

    def cpu_ns(self):
        return sum(map(proc.cpu_ns, self.pids))

    def handed_over(self):
        """Servers that have come from one worker to another up to now."""
        if self.processes > 1:
            return 0
        with pq.Conn(port=self.port, timeout=60) as c:
            c.send(pq.startup({"user": "swarm", "database": "pgbouncer"}))
            c.recv_until()
            said = c.query("SHOW WORKERS")
        at = said.columns.index("servers_in")
        return sum(int(row[at]) for row in said.rows)


def wait_for_line(stand, name, text):
    deadline = time.monotonic() + START_LIMIT
    while text not in stand.tail(name):
        if dict(stand.procs)[name].poll() is not None or \
                time.monotonic() > deadline:
            raise StandError(f"{name} does not start:\n{stand.tail(name)}")
        time.sleep(0.02)


def measure(swarm, way, stub_port, workload, seconds):
    """What swarm says, with the pooler's microseconds for each done."""
    clients, databases, delay, how = workload
    with subprocess.Popen(
            [swarm, str(stub_port), str(way.port), str(clients),
             str(databases), str(seconds), str(delay), *how],
            stdout=subprocess.PIPE, text=True) as p:
        for line in p.stdout:
            if line == "start\n":
                moved, before = way.handed_over(), way.cpu_ns()
            elif line.startswith("{"):
                used = way.cpu_ns() - before
                moved = way.handed_over() - moved
                said = json.loads(line)
    if p.returncode != 0 or said["failed"] or not said["done"]:
        raise StandError(f"{way.name}: swarm ended with {p.returncode}")
    said["us"] = used / 1000 / said["done"]
    for thread in "clients", "server":
        said[thread] = said[thread + "_ns"] / 1000 / said["done"]
    said["per_second"] = said["done"] / said["seconds"]
    said["moved"] = 100 * moved / said["done"]
    said["spread"] = said["p99"] / max(said["p50"], 1)
    return said


def build_swarm(stand):
    binary = stand.path("swarm")
    stand.call([*os.environ.get("CC", "cc").split(), "-std=gnu17",
                "-D_GNU_SOURCE", "-O2", "-o", binary,
                os.path.join(HERE, "swarm.c"), "-lssl", "-lcrypto"], "cc")
    return binary


# --- one worker beside two ---------------------------------------------------

class Case(NamedTuple):
    text: str
    clients: int
    delay: int              # microseconds of the server
    workers: tuple = (1, 2)
    settle: int = 0         # seconds before it is measured
    forced: bool = False    # both workers serve the pool from the beginning


CASES = {
    "workers_light": Case("below one core's worth", 50, 2000),
    "workers_full": Case("more than one core's worth", 256, 0, settle=15),
    "workers_shared": Case("a pool that two workers serve", 200, 1000,
                           forced=True),
    "queue": Case("10,000 clients on 20 servers", 10000, 1000, (1,)),
}


@contextlib.contextmanager
def environment(**more):
    before = dict(os.environ)
    os.environ.update(more)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def start_ways(stand, path, case, stub_port):
    ways = []
    with environment(**({"PARTS_FORCE": "1"} if case.forced else {})):
        for n in case.workers:
            ways.append(Way(f"{path.split('/')[-1]} {n}", f"workers = {n}\n",
                            n))
            ways[-1].start(stand, path, 1, stub_port)
    return ways


def run_case(stand, swarm, path, case, opt):
    """[[what measure() says, for each number of workers], for each round]"""
    stub_port = free_port()
    load = case.clients, 1, case.delay, ()
    ways = start_ways(stand, path, case, stub_port)
    try:
        if case.settle:
            for w in ways:
                measure(swarm, w, stub_port, load, case.settle)
        rounds = []
        for i in range(opt.tail_rounds):
            k = i % len(ways)
            found = {w: measure(swarm, w, stub_port, load, opt.tail_seconds)
                     for w in ways[k:] + ways[:k]}
            rounds.append([found[w] for w in ways])
        return rounds
    finally:
        for w in ways:
            w.stop(stand)


def two_to_one(key):
    return lambda rounds: statistics.median(
        r[1][key] / max(r[0][key], 1e-9) for r in rounds)


def one_to_two(key):
    return lambda rounds: 1 / max(two_to_one(key)(rounds), 1e-9)


def last(key):
    return lambda rounds: statistics.median(r[-1][key] for r in rounds)


# case: {figure of targets: what it is, of the rounds}
FIGURES = {
    "workers_light": {"workers_cost": two_to_one("us"),
                      "workers_speed": one_to_two("per_second")},
    "workers_full": {"workers_full": one_to_two("per_second")},
    "workers_shared": {"workers_spread": two_to_one("spread"),
                       "workers_moved": last("moved")},
    "queue": {"queue_spread": last("spread")},
}


def print_case(case, rounds):
    print(f"\n{case.text:<32}{'CPU us':>9}{'a second':>10}{'p50 ms':>9}"
          f"{'p99 ms':>9}{'p99/p50':>9}{'moved %':>9}")
    for i, n in enumerate(case.workers):
        of = {key: statistics.median(r[i][key] for r in rounds)
              for key in rounds[0][i]}
        print(f"  workers = {n:<20}{of['us']:>9.2f}"
              f"{of['per_second']:>10.0f}{of['p50'] / 1e3:>9.2f}"
              f"{of['p99'] / 1e3:>9.2f}{of['spread']:>9.2f}"
              f"{of['moved']:>9.2f}")


def run_all(stand, path, opt, verdicts):
    """Prints the tables; returns {case: rounds}."""
    raise_limit()
    if not os.path.exists(stand.path("server.crt")):
        stand.make_pooler_files()
    with open(stand.path("userlist.txt"), "a") as f:
        f.write('"swarm" ""\n')
    binary = stand.copy_program(path, "swarmed")
    swarm, result = build_swarm(stand), {}
    for name, case in CASES.items():
        try:
            rounds = run_case(stand, swarm, binary, case, opt)
        except (StandError, OSError) as e:
            print(f"\n{case.text}: {e}")
            for figure in FIGURES[name]:
                verdicts.fail(figure, str(e))
            continue
        result[name] = rounds
        print_case(case, rounds)
        for figure, of in FIGURES[name].items():
            value = of(rounds)
            print(f"    {figure} {value:.2f}{verdicts.hold(figure, value)}",
                  flush=True)
    return result
