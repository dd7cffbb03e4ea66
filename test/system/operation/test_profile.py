# test_profile.py - pgsluicectl profile, and the probes of the program.
# SPDX-License-Identifier: ISC
"""Most tests have a perf of their own, first in PATH: it records what is in
SAID, or fails as the real one does. What it was called with is in a file."""
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import threading
import xml.etree.ElementTree as tree

import pytest

import harness
from harness import REFERENCE, give, make_tmp, wait_until
from test_ctl import ctl
from test_ctl_console import done, failed, start

pytestmark = pytest.mark.skipif(REFERENCE, reason="pgsluice only")

GUIDE = os.path.join(harness.ROOT, "doc", "where-does-the-time-go.md")

PERF = """#!/bin/sh
echo "$*" >>"$HERE/calls"
data=
for word; do
	[ "$before" != -o ] || data=$word
	before=$word
done
case $1,$MODE in
record,refuse) echo; echo 'Error:' >&2; exit 255 ;;
record,wait)
	trap 'echo data >"$data"; kill $!; exit 130' INT
	tail -f /dev/null &
	echo >"$HERE/ready"
	wait ;;
record,*) echo data >"$data" ;;
script,broken) cat "$HERE/said"; echo 'cannot read it' >&2; exit 1 ;;
script,*) cat "$HERE/said" ;;
esac
"""

SAID = """\
    7 10.000000: 
\tffffffff816e1f12 tcp_recvmsg ([kernel.kallsyms])
\tffffffff816e1f12 __x64_sys_recvfrom ([kernel.kallsyms])
\t           fd001 recv (/usr/lib/x86_64-linux-gnu/libc.so.6)
\t           32f72 relay_client_input (/usr/bin/sleep)
\t           3238c main (/usr/bin/sleep)

    7 10.001000: 
\t           32f72 relay_client_input.lto_priv.0 (/usr/bin/sleep)
\t           3238c main (/usr/bin/sleep)

    7 10.002000: 
\t           32f72 <script>alert(1)</script>\x1b[31m (/usr/bin/sleep)
\t           3238c main (/usr/bin/sleep)

    7 10.003000: 
\t           32f72 relay_client_input (/usr/bin/sleep)
\t           3238c main (/usr/bin/sleep)

"""


class Bench:
    """A process to look at, and a perf that looks as it was told."""

    def __init__(self):
        self.dir = give(make_tmp())
        self.out = os.path.join(self.dir, "out")
        self.said(SAID)
        self.put("perf", PERF, 0o755)
        self.sleep = subprocess.Popen(["sleep", "1000"],
                                      **harness.as_user())
        self.pid = str(self.sleep.pid)

    def put(self, name, text, mode=0o644):
        path = os.path.join(self.dir, name)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(give(path), mode)

    def said(self, text):
        self.put("said", text)

    def env(self, mode):
        return {"PATH": self.dir + ":" + os.environ["PATH"],
                "HERE": self.dir, "MODE": mode, "TMPDIR": self.dir}

    def profile(self, *args, mode=""):
        return ctl("profile", "--pid", self.pid, "--seconds", "0.1",
                   *args, **self.env(mode))

    def text(self, name):
        with open(os.path.join(self.dir, name)) as f:
            return f.read()

    def close(self):
        self.sleep.kill()
        self.sleep.wait()
        left = [n for n in os.listdir(self.dir)
                if n.startswith("pgsluicectl.")]
        shutil.rmtree(self.dir)
        assert left == []


@pytest.fixture
def bench():
    b = Bench()
    yield b
    b.close()


def table(text, title):
    """{name: percent} of a table."""
    part = text.partition(title + "\n")[2].partition("\n\n")[0]
    return {m[2]: float(m[1]) for m in re.finditer(
        r"^ *([\d.]+) % +\S+(?: ms)?  (.*)$", part, re.M)}


# --- what it prints -------------------------------------------------------

def test_on_cpu_by_reason_and_function(bench):
    """tables, folded stacks, flame graph; no escape of a name gets out"""
    out = bench.profile("--output", bench.out)
    assert (out.returncode, out.stderr) == (0, "")
    assert out.stdout.startswith("sleep, process %s: 0." % bench.pid)
    assert ", 4 samples, " in out.stdout and "\x1b" not in out.stdout
    assert table(out.stdout, "By reason") == {
        "protocol": 50.0, "receiving": 25.0, "event loop": 25.0}
    functions = table(out.stdout, "By function, the innermost")
    assert functions["relay_client_input"] == 50.0
    assert functions["kernel:tcp_recvmsg"] == 25.0
    folded = bench.text("out/on-cpu.folded").splitlines()
    assert "main;relay_client_input 2" in folded
    assert ("main;relay_client_input;libc:recv;kernel:__x64_sys_recvfrom;"
            "kernel:tcp_recvmsg 1") in folded
    svg = tree.fromstring(bench.text("out/on-cpu.svg"))
    names = [t.text for t in svg.iter("{http://www.w3.org/2000/svg}title")]
    assert "all: 4 samples, 100.0 %" in names
    assert "<script>alert(1)</script>?[31m: 1 samples, 25.0 %" in names
    assert not list(svg.iter("{http://www.w3.org/2000/svg}script"))
    record, script = bench.text("calls").splitlines()
    assert re.fullmatch(r"record -q -o \S+ --call-graph fp -e cpu-clock -F "
                        r"997 -p %s -- sleep 0\.100000" % bench.pid, record)
    assert script.endswith("-F tid,time,ip,sym,dso")


def test_off_cpu_is_the_time_away(bench):
    """of the one thread, from switch to switch"""
    bench.said("""\
%(pid)s 10.000000: 
\tffffffff816e1f12 schedule ([kernel.kallsyms])
\tffffffff816e1f12 __x64_sys_epoll_wait ([kernel.kallsyms])
\t           3238c main (/usr/bin/sleep)

0 10.750000: 
\tffffffff816e1f12 cpu_idle ([kernel.kallsyms])

%(pid)s 10.800000: 
\tffffffff816e1f12 schedule ([kernel.kallsyms])
\tffffffff816e1f12 exit_to_user_mode_loop ([kernel.kallsyms])
\t           3238c main (/usr/bin/sleep)

9 11.050000: 
\t           3238c other (/usr/bin/other)

""" % {"pid": bench.pid})
    out = bench.profile("--off-cpu", "--output", bench.out)
    assert (out.returncode, out.stderr) == (0, "")
    assert "of these 1.0 s away from the CPU, 2 times" in out.stdout
    assert table(out.stdout, "By reason") == {
        "waiting for events": 75.0, "waiting for a CPU": 25.0}
    assert table(out.stdout, "the innermost outside the kernel") == {
        "main": 100.0}
    assert "main;kernel:__x64_sys_epoll_wait;kernel:schedule 750000" in \
        bench.text("out/off-cpu.folded")
    assert os.path.exists(os.path.join(bench.out, "off-cpu.svg"))
    assert ("-e sched:sched_switch -a --filter prev_pid == %s || "
            "next_pid == %s" % (bench.pid, bench.pid)) in bench.text("calls")


def test_interrupt_ends_it_early_with_a_report(bench):
    """SIGINT, while perf records"""
    proc = start("profile", "--pid", bench.pid, "--seconds", "3600",
                 **bench.env("wait"))
    wait_until(lambda: os.path.exists(os.path.join(bench.dir, "ready")))
    proc.send_signal(signal.SIGINT)
    code, out, err = done(proc)
    assert (code, err) == (0, "(ended early)\n")
    assert ", 4 samples, " in out


def test_process_that_ends_meanwhile_is_reported(bench):
    """what was recorded until then counts; a shell's background job"""
    proc = start("profile", "--pid", bench.pid, "--seconds", "3600",
                 prefix=["sh", "-c", "trap '' INT; exec \"$@\"", "sh"],
                 **bench.env("wait"))
    wait_until(lambda: os.path.exists(os.path.join(bench.dir, "ready")))
    bench.sleep.kill()
    bench.sleep.wait()
    proc.send_signal(signal.SIGTERM)
    code, out, err = done(proc)
    assert code == 0
    assert "(the process has ended meanwhile)\n" in err
    assert ", 4 samples, " in out


# --- what may go wrong ----------------------------------------------------

@pytest.mark.parametrize("said, mode, text", [
    ("", "", "no samples: process PID did not run"),
    ("garbage\n\tmore\n\n", "", "no samples: process PID did not run"),
    (SAID, "broken", "perf could not read what it recorded: cannot read it"),
], ids=["empty", "garbage", "broken"])
def test_perf_fails(bench, said, mode, text):
    """one sentence, exit code 1, nothing left behind"""
    bench.said(said)
    failed(bench.profile(mode=mode), 1, text.replace("PID", bench.pid))


def test_kernel_refuses(bench):
    """its setting is named where that is why, else what perf says"""
    out = bench.profile(mode="refuse")
    failed(out, 1)
    assert "perf recorded nothing: Error:" in out.stderr or \
        "kernel.perf_event_paranoid is" in out.stderr
    out = bench.profile("--off-cpu", mode="refuse")
    failed(out, 1)
    if harness.USER is not None or os.getuid() != 0:
        assert "run this as root" in out.stderr


def test_perf_is_not_installed(bench):
    """and the packages that have it are named"""
    env = dict(bench.env(""), PATH=bench.out)
    failed(ctl("profile", "--pid", bench.pid, **env), 1,
           "profile needs Python 3.11 or newer: could not run python3")
    os.mkdir(bench.out)
    os.symlink(sys.executable, os.path.join(bench.out, "python3"))
    failed(ctl("profile", "--pid", bench.pid, **env), 1,
           "perf is not installed (Debian: linux-perf")


def test_folder_that_takes_no_files_is_told_before(bench):
    """perf is not even run"""
    os.mkdir(bench.out)
    os.chmod(bench.out, stat.S_IRUSR | stat.S_IXUSR)
    if harness.USER is not None or os.getuid() != 0:  # no root
        failed(bench.profile("--output", bench.out), 1, "could not write")
    failed(bench.profile("--output", bench.dir + "/no/such"), 1,
           "could not make the folder")
    failed(bench.profile("--output", bench.dir + "/said"), 1,
           "could not write into", "Not a directory")
    assert not os.path.exists(os.path.join(bench.dir, "calls"))


def test_link_in_the_folder_is_not_followed(bench):
    """somebody may have left it for root"""
    os.mkdir(bench.out)
    give(bench.out)
    bench.put("precious", "as it was")
    os.symlink(os.path.join(bench.dir, "precious"),
               os.path.join(bench.out, "on-cpu.svg"))
    assert bench.profile("--output", bench.out).returncode == 0
    assert bench.text("precious") == "as it was"
    assert "</svg>" in bench.text("out/on-cpu.svg")


@pytest.mark.parametrize("args, text", [
    (("--seconds", "0"), "bad number of seconds"),
    (("--seconds", "x"), "bad number of seconds"),
    (("--pid", "0"), "bad number of a process"),
    (("--pid", "99999999999"), "bad number of a process"),
    (("--dbname", "x"), "the command has no such option"),
    (("more",), "too many arguments"),
])
def test_wrong_words(args, text):
    """exit code 2"""
    out = ctl("profile", *args)
    assert out.returncode == 2 and text in out.stderr


# --- which process --------------------------------------------------------

def test_process_is_found(bench, pooler):
    """--config's pidfile, --pattern; of several none is taken by chance"""
    p, q = pooler(), pooler()

    def who(*args):
        out = ctl("profile", "--seconds", "0.1", *args, **bench.env(""))
        if out.returncode != 0:
            return out.stderr
        return re.match(r"\S+, process (\d+): ", out.stdout).group(1)

    pids = [str(x.proc.pid) for x in (p, q)]
    assert who("--pattern", p.ini) == pids[0]
    assert who("--pattern", q.ini) == pids[1]
    # others of the same name may run beside this test
    several = who("--pattern", "pgsluice")
    assert "choose one by --pid, --config or --pattern" in several
    assert "no pgsluice runs whose command line" in who("--pattern", "\x01")
    with open(p.ini) as f:
        text = f.read()
    pidfile = p.put("pid", "%s\n" % pids[0])
    ini = p.put("other.ini", text.replace("[pgbouncer]\n",
                "[pgbouncer]\npidfile = %s\n" % pidfile))
    assert who("--config", ini) == pids[0]
    p.put("pid", "x\n")
    assert "no number in" in who("--config", ini)
    os.unlink(pidfile)
    assert "could not read the pidfile" in who("--config", ini)
    assert "no process 2147483647" in who("--pid", "2147483647")


# --- the real one ---------------------------------------------------------

@pytest.mark.skipif(not shutil.which("perf"), reason="no perf")
def test_real_perf_sees_the_program_at_work(pooler):
    """functions of the pooler by name, while a client works"""
    p, over = pooler(), threading.Event()

    def work():
        with p.raw() as c:
            while not over.is_set():
                c.value("select 1")

    worker = threading.Thread(target=work)
    worker.start()
    try:
        code, out, err = done(start("profile", "--pid", str(p.proc.pid),
                                    "--seconds", "1"))
    finally:
        over.set()
        worker.join()
    if code != 0 and ("does not let this user look" in err
                      or "perf recorded nothing" in err):
        pytest.skip(err)
    assert code == 0, err
    assert table(out, "By reason")


# --- probes ---------------------------------------------------------------

@pytest.mark.skipif(not shutil.which("readelf"), reason="no readelf")
def test_the_program_has_the_probes_of_the_guide():
    """readelf -n, and the table in doc/"""
    notes = subprocess.run(["readelf", "-n", harness.binary()], text=True,
                           stdout=subprocess.PIPE, timeout=60).stdout
    found = re.findall(r"Provider: pgsluice\n\s+Name: (\w+)\n.*\n"
                       r"\s+Arguments: (.*)", notes)
    if not found:
        pytest.skip("built without sys/sdt.h")
    with open(GUIDE) as f:
        rows = re.findall(r"^\| `(\w+__\w+)` \| ([^|]+) \|", f.read(), re.M)
    assert {(name, len(args.split())) for name, args in found} == \
        {(name, len(args.split(","))) for name, args in rows}
