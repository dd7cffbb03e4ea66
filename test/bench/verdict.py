"""Figures held against the file "targets", and the table of all of them.

SPDX-License-Identifier: ISC
"""
import os
from typing import NamedTuple, Optional

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "targets")


class Target(NamedTuple):
    base: str       # "-": the figure stands alone
    limit: Optional[float]
    reference: Optional[float]
    text: str = ""


NO_TARGET = Target("-", None, None)


def read_targets(path=PATH):
    """{figure: Target}, in the order of the file."""
    def value(s):
        return None if s == "-" else float(s)

    table = {}
    with open(path) as f:
        for line in f:
            fields, _, text = line.partition("#")
            if fields.strip():
                name, base, limit, reference = fields.split()
                table[name] = Target(base, value(limit), value(reference),
                                     text.strip())
    return table


def number(value):
    """Short, with as many digits as mean something."""
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


class Verdicts:
    """What was measured of the subject, and whether it suffices."""

    def __init__(self):
        self.targets = read_targets()
        self.found = {}     # figure: value, or the text of what went wrong

    def target(self, figure):
        return self.targets.get(figure, NO_TARGET)

    def hold(self, figure, value):
        """Notes the figure; returns the mark for its row."""
        limit = self.target(figure).limit
        if limit is None:
            return ""
        self.found[figure] = value
        return "  " + self.mark(figure)

    def fail(self, figure, why):
        if figure in self.targets:
            self.found[figure] = why

    def mark(self, figure):
        value = self.found[figure]
        if isinstance(value, str):
            return "MISSED: " + value
        # as it is printed: a thousandth is noise
        return "met" if round(value, 2) <= self.targets[figure].limit \
            else "MISSED"

    def rows(self):
        """For the report: one dictionary per figure that was measured."""
        return [{"figure": name, "base": t.base, "target": t.limit,
                 "reference": t.reference, "text": t.text,
                 "value": self.found[name], "mark": self.mark(name)}
                for name, t in self.targets.items() if name in self.found]

    def all_met(self):
        return all(self.mark(name) == "met" for name in self.found)

    def print_table(self):
        rows = self.rows()
        if not rows:
            return
        print(f"\n{'every target':<20}{'of':<11}{'is':>8}{'target':>8}"
              f"{'1.25.2':>8}")
        for r in rows:
            value = "-" if isinstance(r["value"], str) else number(r["value"])
            print(f"  {r['figure']:<18}{r['base']:<11}{value:>8}"
                  f"{number(r['target']):>8}{number(r['reference']):>8}"
                  f"  {r['mark']}")
