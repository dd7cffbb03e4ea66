# fetch.py - what suites are made of, from where their makers publish it.
# SPDX-License-Identifier: ISC
import glob
import os
import re
import shutil
import subprocess

TARGET = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
RETRIES = ("-o", "Acquire::Retries=3")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Missing(Exception):
    """Why a suite cannot be had here."""


def command(*words, cwd=None, limit=900, **env):
    """The output of a program that must succeed."""
    try:
        done = subprocess.run(
            words, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, timeout=limit, text=True,
            env={**os.environ, **env})
    except FileNotFoundError:
        raise Missing("%s is not installed" % words[0])
    except subprocess.TimeoutExpired:
        raise Missing("%s was not done after %d s" % (words[0], limit))
    if done.returncode != 0:
        raise Missing("%s failed: %s" % (
            " ".join(words[:3]), done.stdout.strip()[-400:]))
    return done.stdout


def at_hand(folder):
    """For what is built for minutes: is it there?"""
    if not os.path.isdir(folder):
        raise Missing("it takes minutes to build; a folder that "
                      "SUITES_CACHE=DIR ./bootstrap suites has left has it")


def unpack(archive, folder):
    """Its only folder becomes `folder`."""
    fresh = folder + ".new"
    shutil.rmtree(fresh, ignore_errors=True)
    os.makedirs(fresh)
    command("tar", "-xf", archive, "-C", fresh, "--strip-components=1",
            "--no-same-owner")
    os.rename(fresh, folder)


def installed(package):
    """The version of a package of Debian."""
    try:
        return command("dpkg-query", "-W", "-f", "${Version}", package)
    except Missing:
        raise Missing("the package %s is not installed" % package)


def own_sources():
    """Where this machine has Debian's packages from, for their sources."""
    rows = command("apt-get", "indextargets", "--format", TARGET,
                   "Created-By: Packages", "Origin: Debian").splitlines()
    signed = "[signed-by=%s] " % KEYRING if os.path.exists(KEYRING) else ""
    return "".join("deb-src %s%s\n" % (signed, row)
                   for row in sorted(set(rows)))


def debian_source(name, version, folder):
    """The source of that version as it was before Debian's changes; of one
    that is near it where the archive has no longer, or not yet, that one."""
    apt = folder + ".apt"
    for sub in ("lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(apt, sub), exist_ok=True)
    with open(os.path.join(apt, "sources.list"), "w") as f:
        f.write(own_sources())
    private = []
    for key, value in (("Etc::sourcelist", apt + "/sources.list"),
                       ("Etc::sourceparts", "/dev/null"),
                       ("State::lists", apt + "/lists"),
                       ("Cache", apt + "/cache")):
        private += ["-o", "Dir::%s=%s" % (key, value)]
    command("apt-get", "-q", *private, *RETRIES, "update")
    others = re.findall(r"^Version: (\S+)", command(
        "apt-cache", *private, "showsrc", name), re.M)
    versions = [version] + [v for v in others if v != version]
    unpack(first_source(name, versions, apt, private), folder)
    shutil.rmtree(apt)


def first_source(name, versions, apt, private):
    """The archive of the first version that can be had. Debian's own changes
    may be missing, because nobody here wants them."""
    for version in versions:
        said = None
        try:
            command("apt-get", "-q", *private, *RETRIES, "source",
                    "--download-only", "%s=%s" % (name, version), cwd=apt)
        except Missing as e:
            said = e
        upstream = (version.partition(":")[2] or version).rpartition("-")[0]
        for path in glob.glob("%s/%s_%s.orig.tar.*" % (apt, name, upstream)):
            # apt renames what has another checksum
            if re.search(r"\.tar\.(gz|bz2|xz|lzma|zst)$", path):
                return path
        print("%s %s is not to be had, trying another" % (name, version))
    raise said or Missing("%s has no archive of upstream" % name)


def debian_program(package, path, to):
    """One program of a package that need not be installed."""
    apt = to + ".apt"
    os.makedirs(apt, exist_ok=True)
    command("apt-get", "-q", *RETRIES, "download", package, cwd=apt)
    command("dpkg-deb", "-x", glob.glob(apt + "/*.deb")[0], apt + "/files")
    shutil.copy2(os.path.join(apt, "files", path), to)
    shutil.rmtree(apt)


def pypi_source(name, version, folder, *makers):
    """A source distribution of PyPI; pip asks it for its name and release by
    the modules that make it, which it fetches itself unless told."""
    to, modules = folder + ".pip", folder + ".makers"
    words = ["/usr/bin/python3", "-m", "pip", "download", "-q", "--no-deps",
             "--no-binary", name, "-d", to]
    if makers:
        pypi_install(modules, *makers)
        words.append("--no-build-isolation")
    command(*words, "%s==%s" % (name, version), PYTHONPATH=modules)
    unpack(glob.glob(to + "/*.tar.gz")[0], folder)
    shutil.rmtree(to)
    shutil.rmtree(modules, ignore_errors=True)


def pypi_install(folder, *names):
    """Modules that need not be installed for everybody."""
    command("/usr/bin/python3", "-m", "pip", "install", "-q", "--target",
            folder, *names)


def go_module(name, version, folder):
    """A module of the Go proxy, with its tests."""
    out = command("go", "mod", "download", "-json", "%s@%s" % (name, version),
                  cwd="/")
    path = out.partition('"Dir": "')[2].partition('"')[0]
    shutil.copytree(path, folder)
    command("chmod", "-R", "u+w", folder)
