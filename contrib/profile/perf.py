# perf.py - perf(1), run for a while on one process.
# SPDX-License-Identifier: ISC
import os
import shutil
import signal
import tempfile
import time

import perf_script

HZ = 997            # not in step with what comes by the clock
SWITCHES = "sched:sched_switch"
TRACE_POINTS = ("/sys/kernel/tracing/events/sched/sched_switch/id",
                "/sys/kernel/debug/tracing/events/sched/sched_switch/id")
PARANOIA = "/proc/sys/kernel/perf_event_paranoid"


class Refused(Exception):
    """What is missing, and what to do about it."""


def first_line(path):
    """The first one that is not empty, or ""."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as f:
            lines = [line.rstrip("\n")[:299] for line in f if line.strip()]
    except OSError:
        return ""
    return lines[0] if lines else ""


def has_ended(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def may_signal(pid):
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


class Perf:
    """With a folder of our own in TMPDIR, until the with statement ends."""

    def __init__(self, pid, seconds, off_cpu):
        self.pid, self.seconds, self.off_cpu = pid, seconds, off_cpu
        self.took = 0.0
        self.interrupted = False    # by a signal: Ctrl-C

    def __enter__(self):
        tmp = os.environ.get("TMPDIR") or "/tmp"
        try:
            self.dir = tempfile.mkdtemp(prefix="pgsluicectl.", dir=tmp)
        except OSError as e:
            raise Refused(f'could not make a folder in "{tmp}": '
                          f"{e.strerror}") from e
        self.data = os.path.join(self.dir, "perf.data")
        self.complaints = os.path.join(self.dir, "stderr")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.dir, ignore_errors=True)

    def spawn(self, args, out):
        """
        Complaints go to a file; no signal is blocked in it, and SIGINT ends it,
        even where a shell has us in the background, which ignores that.
        """
        try:
            return os.posix_spawnp(args[0], args, os.environ, file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, out, 1),
                (os.POSIX_SPAWN_OPEN, 2, self.complaints,
                 os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)],
                setsigmask=(), setsigdef=(signal.SIGINT, signal.SIGPIPE))
        except FileNotFoundError as e:
            raise Refused("perf is not installed (Debian: linux-perf, Ubuntu: "
                          "linux-tools, others: perf)") from e
        except OSError as e:
            raise Refused(f"could not run perf: {e.strerror}") from e

    def wait(self, perf, signals):
        """Until perf has ended; a signal to end us means: report now."""
        began = time.monotonic()
        while os.waitpid(perf, os.WNOHANG)[0] != perf:
            if signal.sigwait(signals) == signal.SIGCHLD:
                continue
            if not self.interrupted:
                self.took = time.monotonic() - began
            self.interrupted = True
            os.kill(perf, signal.SIGINT)
        if not self.interrupted:
            self.took = time.monotonic() - began
        # perf needs some time of its own
        self.took = min(self.took, self.seconds)

    def record(self):
        """Signals end it early, which is no failure; so does the process."""
        # a change of threads belongs to the one that leaves: look at all
        how = ["-e", SWITCHES, "-a", "--filter",
               f"prev_pid == {self.pid} || next_pid == {self.pid}"] \
            if self.off_cpu else \
            ["-e", "cpu-clock", "-F", str(HZ), "-p", str(self.pid)]
        signals = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            self.wait(self.spawn(
                ["perf", "record", "-q", "-o", self.data, "--call-graph", "fp",
                 *how, "--", "sleep", f"{self.seconds:.6f}"], nowhere), signals)
        finally:
            os.close(nowhere)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if not os.path.exists(self.data) or not os.path.getsize(self.data):
            raise Refused(self.why())

    def why(self):
        """perf recorded nothing: the likely reason, else its own words."""
        level = first_line(PARANOIA)
        level = int(level) if os.geteuid() != 0 and \
            level.lstrip("-").isdigit() else -1
        if has_ended(self.pid):
            return (f"process {self.pid} has ended before anything was "
                    "recorded")
        if self.off_cpu and not any(os.access(p, os.R_OK)
                                    for p in TRACE_POINTS):
            return ("the kernel's trace points cannot be read, which --off-cpu "
                    "needs: run this as root, with tracefs mounted (mount -t "
                    "tracefs tracefs /sys/kernel/tracing)")
        if level > (-1 if self.off_cpu else 2) or \
                (level >= 0 and not may_signal(self.pid)):
            return ("the kernel does not let this user look "
                    f"(kernel.perf_event_paranoid is {level}): run this as "
                    "root, or with CAP_PERFMON")
        return "perf recorded nothing" + self.said()

    def said(self):
        line = first_line(self.complaints)
        return f": {line}" if line else ""

    def read(self, program):
        """What was recorded."""
        args = ["perf", "script", "-i", self.data, "--no-inline", "-F",
                perf_script.FIELDS]
        ours, its = os.pipe()
        with open(ours, encoding="latin-1", newline="\n") as lines:
            try:
                perf = self.spawn(args, its)
            finally:
                os.close(its)
            stacks = perf_script.read(lines, program,
                                      self.pid if self.off_cpu else 0)
        if os.waitpid(perf, 0)[1] != 0:
            raise Refused("perf could not read what it recorded" + self.said())
        return stacks
