# stopped.py - one thread of another process, stopped as by a debugger.
# SPDX-License-Identifier: ISC
import contextlib
import ctypes
import os

import pytest

from harness import read, wait_until

SEIZE, INTERRUPT, DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000
EPOLL = {"x86_64": {"232", "281"}, "aarch64": {"22"}}

libc = ctypes.CDLL(None, use_errno=True)


def comm(pid, tid):
    """The name of the thread of that number."""
    return read("/proc/%d/task/%s/comm" % (pid, tid)).decode().strip()


def thread(pid, name):
    """The number of the thread of that name."""
    for tid in os.listdir("/proc/%d/task" % pid):
        if comm(pid, tid) == name:
            return int(tid)
    raise AssertionError("no thread %r" % name)


def is_asleep(pid, tid):
    """Does it wait in its loop, so that it has no lock?"""
    call = read("/proc/%d/task/%d/syscall" % (pid, tid)).split()[0]
    return call.decode() in EPOLL[os.uname().machine]


def ptrace(request, tid):
    return libc.ptrace(ctypes.c_long(request), ctypes.c_long(tid), None, None)


@contextlib.contextmanager
def stopped(pid, name):
    """It is kept from turning."""
    tid = thread(pid, name)
    if os.uname().machine not in EPOLL:
        pytest.skip("which call is epoll_wait()?")

    def stop():
        if ptrace(SEIZE, tid) < 0:
            pytest.skip("no ptrace here: " + os.strerror(ctypes.get_errno()))
        assert ptrace(INTERRUPT, tid) == 0
        os.waitpid(tid, WALL)
        if not is_asleep(pid, tid):
            ptrace(DETACH, tid)
            return False
        return True

    wait_until(stop, what="a thread that sleeps")
    try:
        yield
    finally:
        ptrace(DETACH, tid)
