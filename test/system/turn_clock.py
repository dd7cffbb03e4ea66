"""What turn_clock.c, preloaded into a pooler, says of its turns.
SPDX-License-Identifier: ISC
"""
import mmap
import os
import struct
from typing import NamedTuple

STEP, STEPS = 0.01, 10000           # ms, of counts
LENGTHS = struct.Struct("QQQ%dQ" % STEPS)


class Lengths(NamedTuple):
    """Of turns; in ms."""
    turns: int
    mean: float
    p999: float                     # not more than this
    longest: float


def lengths(longest, total, count, counts):
    left = count - count // 1000
    for step, n in enumerate(counts):
        left -= n
        if left <= 0:
            break
    longest /= 1e6
    return Lengths(count, total / max(count, 1) / 1e6,
                   min((step + 1) * STEP, longest), longest)


class TurnClock:
    """The turns of a process since the last reset()."""

    def __init__(self, path):
        """The file is made, for the environment's TURN_CLOCK."""
        with open(path, "w+b") as f:
            f.truncate(2 * LENGTHS.size)
            self.memory = mmap.mmap(f.fileno(), 2 * LENGTHS.size)
        os.chmod(path, 0o666)
        self.path = path

    def reset(self):
        self.memory[:] = bytes(2 * LENGTHS.size)

    def read(self):
        """By CPU time, and by the wall clock."""
        return tuple(
            lengths(*said[:3], said[3:])
            for said in LENGTHS.iter_unpack(self.memory[:]))
