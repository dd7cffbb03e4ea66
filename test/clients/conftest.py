# conftest.py - fixtures of the tests with real drivers: those of test/system.
# SPDX-License-Identifier: ISC
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))), "system"))

from fixtures import *  # noqa: E402,F401,F403
