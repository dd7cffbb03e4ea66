# __main__.py - pgsluicectl convert: the files of other poolers.
# SPDX-License-Identifier: ISC
#
#   python3 -IB -X utf8 FOLDER_OF_THIS_FILE FILE FOLDER
import errno
import os
import re
import stat
import sys

if sys.version_info < (3, 11):
    sys.exit("pgsluicectl: convert needs Python 3.11 or newer")

import odyssey
import pgcat
import writing
from facts import Failure

NAMES = ("pgsluice.ini", "userlist.txt", "hba.conf")
BRACKET = re.compile(r"[ \t]*\[")
BRACE = re.compile(r"[ \t]*(?![#\n])[^#{\n]*\{")
# Controls, what moves the text around it, and bytes that are no UTF-8.
UNPRINTABLE = re.compile("[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e"
                         "\u2066-\u2069\udc80-\udcff]")
DONE, FAILED, USAGE = range(3)


class Refused(Exception):
    """What went wrong outside of the text."""


def escaped(match):
    raw = match[0].encode(errors="surrogateescape")
    return {"\n": "\\n", "\t": "\\t"}.get(
        match[0], "".join(f"\\x{byte:02x}" for byte in raw))


def printable(text):
    return UNPRINTABLE.sub(escaped, text)


def read(path):
    """The text, in which bytes that are no UTF-8 are surrogates."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
        with open(fd, "rb") as f:
            mode = os.fstat(fd).st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISCHR(mode):
                raise Refused(f"could not read {path}: not a regular file")
            text = f.read()
    except OSError as e:
        raise Refused(f"could not read {path}: {e.strerror}") from e
    if b"\0" in text:
        raise Refused(f"{path} has a NUL byte in it")
    return text.decode(errors="surrogateescape")


def reader_of(text):
    """By the first sign of a section: PgCat's begin with a bracket."""
    for line in text.split("\n"):
        if BRACKET.match(line):
            return pgcat
        if BRACE.match(line):
            break
    return odyssey


def convert(path):
    """The conversion; its remarks are on stderr by then."""
    text = read(path)
    reader = reader_of(text)
    try:
        done = reader.read(text)
    except Failure as e:
        raise Refused(f"{path}: {e}") from e
    try:
        reader.convert(done)
    except Failure as e:
        raise Refused(f"{path}: {e}") from e
    finally:
        for line, key, why in done.told():
            print(f"{printable(path)}:{line}: {printable(key)}: "
                  f"{printable(why)}", file=sys.stderr)
    if not done.routes:
        raise Refused(f"{path} has no pool, and no database with a storage")
    return done


def write(path, lines):
    """A new file, for its owner alone: there are passwords in it."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as e:
        raise Refused(f"could not make {path}: {e.strerror}") from e
    try:
        with open(fd, "w", errors="surrogateescape", newline="") as f:
            f.writelines(lines)
    except OSError as e:
        os.unlink(path)
        raise Refused(f"could not write {path}") from e


def write_all(out, paths):
    texts = (writing.ini(out, paths[1], paths[2]), writing.auth(out),
             writing.hba(out))
    made = []
    try:
        for path, lines in zip(paths, texts):
            write(path, lines)
            made.append(path)
    except Refused:
        for path in made:
            os.unlink(path)
        raise


def run(path, folder):
    done = convert(path)
    try:
        real = os.path.realpath(folder, strict=True)
    except OSError as e:
        raise Refused(f"could not find {folder}: {e.strerror}") from e
    paths = [os.path.join(real, name) for name in NAMES]
    write_all(done.out, paths)
    print(f"{paths[0]}, userlist.txt and hba.conf are written, with "
          f"{len(done.remarks)} remarks.\nNext: pgsluicectl check {paths[0]}")


def main(args):
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    if len(args) != 2:
        print("Usage: pgsluicectl convert FILE FOLDER", file=sys.stderr)
        return USAGE
    try:
        run(*args)
        sys.stdout.flush()
    except Refused as e:
        lines = re.split("([\n\t])", f"pgsluicectl: {e}")
        print("".join(s if s in "\n\t" else printable(s) for s in lines),
              file=sys.stderr)
        return FAILED
    except OSError as e:
        # the reader who closed stdout knows
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if e.errno != errno.EPIPE:
            print(f"pgsluicectl: could not write: {e.strerror}",
                  file=sys.stderr)
        return FAILED
    return DONE


sys.exit(main(sys.argv[1:]))
