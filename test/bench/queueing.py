"""Workers, their queues and their machine, as a simulation (doc/workers.md).

Clients in a closed loop, workers that are event loops, servers that take their
time.  Costs are in microseconds.  Each run is checked against Little's law.
SPDX-License-Identifier: ISC
"""
import heapq
import itertools
import random
import statistics
import sys
import zlib
from collections import deque
from dataclasses import dataclass

WAKE = 20.0     # until a loop that sleeps has heard of its mail
MOVE = 2.0      # a socket from one epoll set to another
DELAY = 1000.0  # worker_handover_delay
MORE = 5        # times that, for each server that goes at once


@dataclass
class Costs:
    event: float            # CPU of one burst: a transaction has two
    turn: float = 0.0       # CPU of a turn of the loop, whatever it finds
    query: float = 0.0      # a server's time for a transaction, exponential
    fixed: float = 0.0      # ... or always the same
    network: float = 0.0    # a client's way to us and back, and its own time
    # of those who play clients and servers, one thread each, beside the workers
    client: float = 0.0
    server: float = 0.0


class Loop:
    """A thread: what is there when it turns is one turn's; then it looks again."""

    def __init__(self, sim, turn):
        self.sim, self.cost, self.jobs = sim, turn, deque()
        self.runs = False
        self.busy = 0.0

    def put(self, cost, then, mail=False):
        """A burst, or mail, for the loop."""
        self.jobs.append((cost, then))
        if not self.runs:
            self.runs = True
            self.sim.running += 1
            self.sim.at(WAKE if mail else 0.0, self.turn)

    def turn(self):
        """With fewer cores than threads that run, all are as slow."""
        if not self.jobs:
            self.runs = False
            self.sim.running -= 1
            return
        stretch = max(1.0, self.sim.running / self.sim.cores)
        at = self.cost * stretch
        self.busy += self.cost
        for _ in range(len(self.jobs)):
            cost, then = self.jobs.popleft()
            at += cost * stretch
            self.busy += cost
            self.sim.at(at, then)
        self.sim.at(at, self.turn)


class Worker(Loop):
    def __init__(self, sim, turn):
        super().__init__(sim, turn)
        self.idle, self.waiting = 0, deque()    # of its part of the pool
        self.have = self.lease = 0      # servers, and its share of them
        self.ahead = self.coming = 0    # on their way from here, and to here


class Sim:
    """workers share `servers` of one pool by hand-over, or have whole pools."""

    def __init__(self, homes, servers, costs, transactions, seed=1,
                 clients=1000, share=True, cores=float("inf")):
        self.now, self.heap, self.order = 0.0, [], itertools.count()
        self.random = random.Random(seed)
        self.costs, self.cores, self.running = costs, cores, 0
        self.clients = clients
        self.workers = [Worker(self, costs.turn)
                        for _ in range(max(homes) + 1)]
        self.players, self.stub = Loop(self, 0.0), Loop(self, 0.0)
        for i in range(servers):
            worker = self.workers[homes[i % len(homes)]]
            worker.idle += 1
            worker.have += 1
            worker.lease += 1
        self.share = share
        self.waits, self.moved, self.done = [], 0, 0
        self.inside = self.outside = 0.0
        for i in range(clients):
            worker = self.workers[homes[i % len(homes)]]
            self.at(self.random.random() * 100, self.request, worker, 0.0)
        self.run(transactions)

    def at(self, delay, then, *args):
        heapq.heappush(self.heap, (self.now + delay, next(self.order), then,
                                   args))

    def run(self, transactions):
        warm = transactions // 5
        start = busy = None
        while self.done < warm + transactions:
            self.now, _, then, args = heapq.heappop(self.heap)
            then(*args)
            if start is None and self.done >= warm:
                start, busy = self.now, [w.busy for w in self.workers]
                self.waits, self.moved = [], 0
                self.inside = self.outside = 0.0
        took = self.now - start
        self.rate = transactions / took * 1e6
        self.use = max((w.busy - b) / took
                       for w, b in zip(self.workers, busy))
        cuts = statistics.quantiles(self.waits, n=100)
        self.p50, self.p99 = cuts[49], cuts[98]
        # Little: clients = rate * (time inside + time outside)
        mean = (self.inside + self.outside) / transactions
        if abs(self.rate * mean / 1e6 / self.clients - 1) > .05:
            sys.exit(f"Little's law fails: {self.rate * mean / 1e6:.0f}")

    # --- a transaction ---

    def request(self, w, left):
        came = self.now
        self.outside += came - left
        w.put(self.costs.event, lambda: self.acquire(w, came))

    def acquire(self, w, came):
        w.waiting.append((self.now, came))
        if w.idle:
            w.idle -= 1
            self.lend(w)
        elif self.share:
            other = max(self.workers, key=lambda o: o.idle)
            if other.idle:
                other.idle -= 1
                self.hand_over(other, w)

    def lend(self, w):
        since, came = w.waiting.popleft()
        self.waits.append(self.now - since)
        if self.costs.server:
            self.stub.put(self.costs.server, lambda: self.work(w, came))
        else:
            self.work(w, came)

    def work(self, w, came):
        mean = self.costs.query
        self.at(self.costs.fixed + (self.random.expovariate(1 / mean) if mean
                                    else 0), w.put, self.costs.event,
                lambda: self.release(w, came))

    def release(self, w, came):
        self.done += 1
        left = self.now
        self.inside += left - came
        if self.costs.client:
            self.players.put(self.costs.client, lambda: self.request(w, left))
        else:
            self.at(self.random.expovariate(1 / self.costs.network),
                    self.request, w, left)
        self.free(w)

    def free(self, w):
        """A server is free: whose is it? (limit_find_recipient())"""
        own = w.waiting[0][0] if w.waiting else float("inf")
        heir = min((o for o in self.workers if o is not w and
                    len(o.waiting) > o.coming), default=None,
                   key=lambda o: o.waiting[0][0]) if self.share else None
        if heir and heir.waiting[0][0] + self.patience(w, heir) <= own:
            self.hand_over(w, heir)
        elif w.waiting:
            self.lend(w)
        else:
            w.idle += 1

    @staticmethod
    def patience(w, heir):
        due = w.have > w.lease and heir.have < heir.lease
        return w.ahead * MORE * DELAY + (-DELAY / 2 if due else DELAY)

    def hand_over(self, here, there):
        self.moved += 1
        here.have -= 1
        here.ahead += 1
        there.have += 1
        there.coming += 1
        here.put(MOVE, lambda: self.send(here, there), mail=True)

    def send(self, here, there):
        here.ahead -= 1
        there.put(MOVE, lambda: self.arrive(there), mail=True)

    def arrive(self, there):
        there.coming -= 1
        self.free(there)


def hashed(workers, pools):
    """The workers of many pools, by a hash of their names."""
    used = [zlib.crc32(b"database%d" % n) % workers for n in range(pools)]
    return used + [workers - 1] * (workers - 1 not in used)
