# conftest.py - fixtures of the system tests.
# SPDX-License-Identifier: ISC
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from fixtures import *  # noqa: E402,F401,F403
