"""Whether a secret can be seen anywhere: for every test that starts a process with secrets."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from tests.kafka.replicas import Replica


def assert_hidden(secrets: Iterable[str], places: Mapping[str, str | bytes]) -> None:
    """None of the secrets is in any of these texts, neither as it is nor as it travels (base64, inside
    other base64, percent-encoded, hexadecimal). `places`: what is searched, under names for the message."""
    forms = {form for secret in secrets for form in _forms(secret.encode())}
    assert forms, "no secret to look for"
    for name, text in places.items():
        seen = text.encode() if isinstance(text, str) else text
        assert not any(form in seen for form in forms), f"a secret is shown in: {name}"


def places_of(replica: Replica) -> dict[str, str | bytes]:
    """Everything that a running replica shows to others: its log, its endpoints, and what the system tells
    of the process to its user's other processes."""
    pages = {page: str(replica._get(page)) for page in ("/metrics", "/live", "/ready", "/", "/config")}
    process = Path(f"/proc/{replica._process.pid}")
    told = {
        name: (process / name).read_bytes() for name in ("cmdline", "environ", "limits") if process.exists()
    }
    return {f"{replica.name}: log": replica.log, **pages, **told}


def _forms(secret: bytes) -> Iterator[bytes]:
    yield from (secret, secret.hex().encode(), quote(secret, safe="").encode())
    for shift in range(3):
        # What stands before it moves the letters; those at both ends are mixed with its neighbours.
        yield base64.b64encode(b"\0" * shift + secret)[4 if shift else 0 :].rstrip(b"=")[:-2]
