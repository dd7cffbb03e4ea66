# test_failover.py - a primary is lost under load; test/fleet/failover is the
# same twenty times, and tells how long it took.
# SPDX-License-Identifier: ISC
import os
import subprocess
import sys

import pytest

from harness import REFERENCE, ROOT

pytestmark = pytest.mark.skipif(REFERENCE, reason="has no such key")
SCRIPT = os.path.join(ROOT, "test", "fleet", "failover")


def test_no_acknowledged_write_is_lost_with_the_primary():
    """nor is any sent to a host that is read-only"""
    done = subprocess.run([sys.executable, SCRIPT, "--rounds", "1",
                           "--clients", "4"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    assert "0 of them lost, 0 twice; 0 writes met a read-only host" \
        in done.stdout, done.stdout
