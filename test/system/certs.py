# certs.py - certificate authorities and certificates for tests, by openssl.
# SPDX-License-Identifier: ISC
"""One folder a test process, made when the first test asks for it.

Names say what a certificate is for: `server` names localhost and 127.0.0.1,
`wrong` another host, `client` the user app, `stranger` is signed by an
authority that nobody trusts.
"""
import os
import shutil
import ssl
import subprocess

import harness

EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
RSA = ["-newkey", "rsa:2048"]


class Certs:
    def __init__(self):
        self.dir = harness.make_tmp()
        for name in ("ca", "other_ca"):
            self.make_ca(name, EC)
        local = "DNS:localhost,IP:127.0.0.1"
        self.make("server", "/CN=localhost", local)
        self.make("server_rsa", "/CN=localhost", local, kind=RSA)
        self.make("wrong", "/CN=elsewhere.example", "DNS:*.example")
        self.make("by_cn", "/CN=localhost")
        self.make("client", "/CN=app")
        self.make("stranger", "/CN=app", ca="other_ca")
        self.make("old", "/CN=app", days="-1")

    def _run(self, *args):
        out = subprocess.run(("openssl",) + args, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        assert out.returncode == 0, out.stdout

    def key(self, name):
        return os.path.join(self.dir, name + ".key")

    def crt(self, name):
        return os.path.join(self.dir, name + ".crt")

    def make_ca(self, name, kind):
        self._run("req", "-x509", *kind, "-nodes", "-days", "30", "-subj",
                  "/CN=test " + name, "-keyout", self.key(name), "-out",
                  self.crt(name), "-addext",
                  "basicConstraints=critical,CA:TRUE")

    def make(self, name, subject, names=None, ca="ca", kind=EC, days="30",
             digest="-sha256", extra=(), is_ca=False):
        """A certificate and its key, readable by the test user."""
        req = os.path.join(self.dir, name + ".req")
        ext = os.path.join(self.dir, name + ".ext")
        with open(ext, "w") as f:
            f.write("basicConstraints=CA:%s\n" % str(is_ca).upper())
            if names:
                f.write("subjectAltName=%s\n" % names)
        self._run("req", "-new", *kind, "-nodes", "-subj", subject,
                  "-keyout", self.key(name), "-out", req)
        self._run("x509", "-req", "-in", req, "-CA", self.crt(ca), "-CAkey",
                  self.key(ca), "-CAcreateserial", "-days", days,
                  *([digest] if digest else []), "-extfile", ext, "-out",
                  self.crt(name), *extra)
        for path in (self.key(name), self.crt(name)):
            harness.give(path)
        os.chmod(self.key(name), 0o600)

    def make_crl(self, name, *revoked, ca="ca", when=("-crldays", "30")):
        """name.crt: the list of an authority, with these revoked."""
        base = os.path.join(self.dir, name)
        with open(base + ".conf", "w") as f:
            f.write("[ca]\ndefault_ca=it\n[it]\ndatabase=%s.txt\n"
                    "default_md=sha256\n" % base)
        open(base + ".txt", "w").close()
        args = ["ca", "-config", base + ".conf", "-keyfile", self.key(ca),
                "-cert", self.crt(ca)]
        for cert in revoked:
            self._run(*args, "-revoke", self.crt(cert))
        self._run(*args, "-gencrl", *when, "-out", self.crt(name))
        return harness.give(self.crt(name))

    # --- settings of a pooler ---

    def accept(self, mode="prefer", cert="server", ca=None, **more):
        """client_tls_*"""
        out = {"client_tls_sslmode": mode,
               "client_tls_key_file": self.key(cert),
               "client_tls_cert_file": self.crt(cert)}
        if ca is not None:
            out["client_tls_ca_file"] = self.crt(ca)
        elif mode != "disable":
            out["client_tls_ca_file"] = self.crt("ca")
        out.update(more)
        return out

    def connect(self, mode, ca="ca", cert=None, **more):
        """server_tls_*"""
        out = {"server_tls_sslmode": mode}
        if ca:
            out["server_tls_ca_file"] = self.crt(ca)
        if cert:
            out["server_tls_key_file"] = self.key(cert)
            out["server_tls_cert_file"] = self.crt(cert)
        out.update(more)
        return out

    # --- contexts of Python's ssl ---

    def client_context(self, cert=None, verify=True, alpn=None):
        c = ssl.create_default_context(cafile=self.crt("ca"))
        if not verify:
            c.check_hostname = False
            c.verify_mode = ssl.CERT_NONE
        if cert:
            c.load_cert_chain(self.crt(cert), self.key(cert))
        if alpn:
            c.set_alpn_protocols([alpn])
        return c

    def server_context(self, cert="server", alpn=None):
        c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        c.load_cert_chain(self.crt(cert), self.key(cert))
        if alpn:
            c.set_alpn_protocols([alpn])
        return c


_certs = None


def certs():
    global _certs
    if _certs is None:
        _certs = Certs()
    return _certs


def shutdown():
    global _certs
    if _certs is not None:
        shutil.rmtree(_certs.dir, ignore_errors=True)
        _certs = None
