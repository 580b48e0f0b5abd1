"""Certificates of an authority of our own, made by openssl."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")
_YESTERDAY = "20200102000000Z"


class Certificate(NamedTuple):
    """PEM files; `both`: key and certificate in one, as Apache Kafka wants it."""

    certificate: Path
    key: Path
    both: Path


class Authority:
    """Signs certificates that are trusted by whoever trusts `certificate`."""

    def __init__(self, home: Path, name: str = "authority") -> None:
        home.mkdir(parents=True, exist_ok=True)
        self._home = home
        self.certificate, self._key = home / f"{name}.pem", home / f"{name}.key"
        files = ("-keyout", self._key, "-out", self.certificate)
        _openssl("req", "-x509", *_KEY, "-nodes", *files, "-days", "30", "-subj", f"/CN={name}")

    def issue(self, name: str, *, host: str = "", password: str = "", expired: bool = False) -> Certificate:
        """For the subject CN=`name`. `host`: it is a server's, valid for this name (`DNS:…`, `IP:…`).
        `password` encrypts the key."""
        made = Certificate(*(self._home / f"{name}.{kind}" for kind in ("pem", "key", "both.pem")))
        request = self._home / f"{name}.request"
        secret = ("-passout", f"pass:{password}") if password else ("-nodes",)
        alternative = ("-addext", f"subjectAltName={host}") if host else ()
        _openssl(
            "req", "-new", *_KEY, *secret, "-keyout", made.key, "-out", request, "-subj", f"/CN={name}",
            *alternative,
        )  # fmt: skip
        self._sign(request, made.certificate, expired=expired)
        made.both.write_text(made.key.read_text() + made.certificate.read_text())
        return made

    def _sign(self, request: Path, certificate: Path, *, expired: bool) -> None:
        """`x509` cannot date back, `ca` can, which keeps a register."""
        register = self._home / "register"
        register.touch()
        configuration = self._home / "ca.cnf"
        configuration.write_text(
            f"[ca]\ndefault_ca=x\n[x]\ndatabase={register}\nrand_serial=yes\nunique_subject=no\n"
            f"new_certs_dir={self._home}\ndefault_md=sha256\npolicy=p\ncopy_extensions=copy\n[p]\n"
            "commonName=supplied\n"
        )
        dates = ("-startdate", "20200101000000Z", "-enddate", _YESTERDAY) if expired else ("-days", "30")
        _openssl(
            "ca", "-batch", "-notext", "-config", configuration, "-cert", self.certificate, "-keyfile",
            self._key, *dates, "-in", request, "-out", certificate,
        )  # fmt: skip


def _openssl(*arguments: str | Path) -> None:
    done = subprocess.run(["openssl", *arguments], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
