# conftest.py - fixtures of the tests with scripted peers.
# SPDX-License-Identifier: ISC
import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "system"))
sys.path.insert(0, HERE)

from fixtures import *  # noqa: E402,F401,F403
import fakedns  # noqa: E402
import fakepg as fakepg_module  # noqa: E402


@pytest.fixture
def dns():
    d = fakedns.FakeDns()
    yield d
    d.close()


@pytest.fixture
def fakepg():
    """Makes scripted servers; all are closed at the end of the test."""
    made = []

    def make(**kw):
        f = fakepg_module.FakePg(**kw)
        made.append(f)
        return f
    yield make
    for f in made:
        f.close()
