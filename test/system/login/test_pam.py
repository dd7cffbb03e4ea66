# test_pam.py - PAM authentication: spec/authentication.md section 3.6.
# SPDX-License-Identifier: ISC
"""PAM is real; pam_wrapper lets it read its service file from a folder of the
test, and pam_exec asks a script there."""
import contextlib
import glob
import os
import signal

import pytest

import harness
import pq
from harness import code_of, wait_until

REFUSED = "PAM authentication failed"
BUSY = "too many logins wait to be checked"

SERVICE = """
auth required pam_exec.so expose_authtok quiet {dir}/check
account required pam_exec.so quiet {dir}/check
"""

# "slow..." waits for a line, as long as the test is there; "old" may not use
# the service. (Signals are blocked, as in the thread that has started it.)
CHECK = """#!/bin/sh
read -r password
printf '%s\\n' "$PAM_TYPE $PAM_SERVICE $PAM_USER $PAM_RHOST" >>{dir}/calls
case $PAM_TYPE-$PAM_USER in
auth-slow*)
	until timeout -s KILL 20 sh -c 'read -r _ <{dir}/pipe'; do
		[ -p {dir}/pipe ] || exit 1
	done
	exit 0 ;;
auth-*) grep -qxF "$PAM_USER:$password" {dir}/passwords ;;
account-old) exit 1 ;;
esac
"""
PASSWORDS = "app:app pw\nold:old pw\nadmin:adminpw\nu_scram:pw_three\n"


@pytest.fixture(scope="module", autouse=True)
def built():
    if not harness.built_with("pam"):
        pytest.skip("this build has no PAM")


@pytest.fixture
def pooler(pooler):
    """Scripts that wait at a gate end with their test, whoever started them."""
    made = []

    def make(*args, **kw):
        made.append(pooler(*args, **kw))
        return made[-1]
    yield make
    for p in made:
        remove_gate(p)
        wait_until(lambda d=p.dir: not scripts(d), what="scripts to end")


def scripts(folder):
    """Command lines of processes that run something of this folder's gate."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        with contextlib.suppress(OSError), open(path) as f:
            line = f.read()
            if folder + "/check" in line or folder + "/pipe" in line:
                found.append(line)
    return found


def remove_gate(p):
    """Scripts at the gate find a line, and later ones no gate."""
    path = os.path.join(p.dir, "pipe")
    with contextlib.suppress(FileNotFoundError):
        fd = os.open(path, os.O_RDWR)
        os.write(fd, b"\n" * 100)
        os.unlink(path)
        os.close(fd)


def pam(pooler, service="pgbouncer", **kw):
    kw.setdefault("auth_type", "pam")
    p = pooler(start=False, userlist={"admin": "adminpw", "app": "app pw"},
               **kw)
    services = os.path.join(p.dir, "pam.d")
    os.mkdir(services)      # all that is in there is read at the start
    p.put("pam.d/" + service, SERVICE.format(dir=p.dir))
    p.put("pam.d/other", "auth required pam_deny.so\n")
    os.chmod(p.put("check", CHECK.format(dir=p.dir)), 0o755)
    p.put("passwords", PASSWORDS)
    p.put("calls", "")
    os.mkfifo(os.path.join(p.dir, "pipe"))
    harness.give(os.path.join(p.dir, "pipe"))
    p.env.update(LD_PRELOAD=harness.preload("pam"), PAM_WRAPPER="1",
                 PAM_WRAPPER_SERVICE_DIR=services)
    return p.start()


def calls(p):
    with open(os.path.join(p.dir, "calls")) as f:
        return f.read().splitlines()


@contextlib.contextmanager
def open_gate(p, count):
    """Let so many go on, and keep the pipe open until they are answered: who is
    in calls() may not have opened it yet, and finds his line later."""
    # to read as well: needs nobody at the other end
    fd = os.open(os.path.join(p.dir, "pipe"), os.O_RDWR)
    try:
        os.write(fd, b"\n" * count)
        yield
    finally:
        os.close(fd)


def refused(p, user, password, text, database="p0", **kw):
    with pytest.raises(pq.PgError) as e:
        p.open(**kw).login(user, password, database)
    assert (e.value.code, e.value.message) == (code_of(text), text)


def begin(p, user):
    c = p.open()
    c.send(pq.startup({"user": user, "database": "p0"}))
    kind, _ = c.recv()
    assert kind == "R"
    c.send(pq.password("x"))
    return c


def test_service_is_asked_for_user_and_account(pooler):
    p = pam(pooler)
    with p.raw("app") as c:
        assert c.value("select current_user") == "app"
    assert calls(p) == ["auth pgbouncer app 127.0.0.1",
                        "account pgbouncer app 127.0.0.1"]


def test_unix_socket_has_no_address(pooler):
    p = pam(pooler)
    with p.raw("app", unix=True) as c:
        assert c.value("select 1") == "1"
    assert calls(p)[0] == "auth pgbouncer app unix"


@pytest.mark.parametrize("user,password,text", [
    ("app", "wrong", REFUSED), ("nobody", "app pw", REFUSED),
    ("app", "", "empty password returned by client"),
    ("old", "old pw", REFUSED)])
def test_wrong_password_or_account_is_refused(pooler, user, password, text):
    p = pam(pooler)
    refused(p, user, password, text)
    if text == REFUSED:
        p.wait_log(r"pam_acct_mgmt\(\) failed" if user == "old" else
                   r"pam_authenticate\(\) failed")


def test_password_is_for_the_server_too(pooler):
    """PgBouncer 1.12 #285: PAM user loses password"""
    p = pam(pooler)
    for _ in range(2):
        with p.raw("u_scram", password="pw_three") as c:
            assert c.value("select current_user") == "u_scram"
        p.sighup()
        p.admin("reconnect p0")
        wait_until(lambda: not p.admin("show servers"),
                   what="the server to be closed")


def test_database_with_auth_user_is_refused(pooler):
    p = pam(pooler, dbs={"p0": "auth_user=app", "p1": ""})
    refused(p, "app", "app pw", "bouncer config error")
    assert p.raw("app", "p1").value("select 1") == "1"


def test_console_rights_are_by_name(pooler):
    p = pam(pooler)
    assert p.admin("show version")
    refused(p, "app", "app pw", "not allowed", "pgbouncer")


def test_missing_service_lets_nobody_in(pooler):
    p = pam(pooler, service="other_name")
    refused(p, "app", "app pw", REFUSED)


def test_passwords_are_never_logged(pooler):
    """spec/logging.md section 6"""
    p = pam(pooler, verbose=3)
    assert p.raw("app").value("select 1") == "1"
    refused(p, "app", "not this one", REFUSED)
    assert "app pw" not in p.log and "not this one" not in p.log


def test_slow_logins_hold_up_nobody(pooler):
    p = pam(pooler, auth_threads=4 * harness.WORKERS)
    work = p.raw("app")
    waiting = [begin(p, "slow%d" % i) for i in range(3)]
    wait_until(lambda: len(calls(p)) == 2 + 3, what="three to be asked for")
    for _ in range(20):
        assert work.value("select 1") == "1"
    assert p.raw("app", "p1").value("select 1") == "1"
    assert not any(c.readable() for c in waiting)
    with open_gate(p, len(waiting)):
        for c in waiting:
            assert 'role "slow' in c.recv_all().errors[-1].message


def test_full_queue_refuses_at_once(pooler):
    """PgBouncer blocks its loop when the queue of 20 is full"""
    p = pam(pooler, auth_threads=1, auth_queue=1)
    waiting = [begin(p, "slow%d" % i) for i in range(6)]
    told = wait_until(lambda: (lambda r: r if len(r) == 4 else None)(
        [c for c in waiting if c.readable()]), what="refusals")
    for c in told:
        e = c.recv_all().errors[-1]
        assert (e.code, e.message) == ("53300", BUSY)
    p.wait_log("PAM queue is full", count=4)


def test_end_does_not_wait_for_a_module(pooler):
    p = pam(pooler)
    for c in [begin(p, "slow%d" % i) for i in range(3)]:
        wait_until(lambda: calls(p), what="one to be asked for")
    p.signal(signal.SIGQUIT)
    p.wait_exit()   # nobody opens the gate
    assert p.proc.returncode == 0
