# test_profile.py - pgsluicectl profile, and the probes of the program.
# SPDX-License-Identifier: ISC
import os
import re
import shutil
import subprocess

import pytest

import harness
from harness import REFERENCE

pytestmark = pytest.mark.skipif(REFERENCE, reason="pgsluice only")

ROOT = os.path.normpath(os.path.join(os.path.dirname(__file__), "..", ".."))
GUIDE = os.path.join(ROOT, "doc", "where-does-the-time-go.md")


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
