"""A token endpoint (OAuth 2.0, client credentials) over https, with keys and certificates of our own."""

from __future__ import annotations

import base64
import json
import ssl
import subprocess
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs
from uuid import uuid4

from tests.kafka.secured_certificates import Certificate

AUDIENCE = "brokers"
ISSUER = "https://tokens.test"


class Keys:
    """An RSA key that signs tokens; `jwks` is the file by which brokers verify them."""

    def __init__(self, home: Path) -> None:
        self._key, self.jwks = home / "tokens.key", home / "jwks.json"
        _openssl("genrsa", "-out", str(self._key), "2048")
        modulus = _openssl("rsa", "-in", str(self._key), "-noout", "-modulus").decode().strip()
        number = bytes.fromhex(modulus.removeprefix("Modulus="))
        public = {"kty": "RSA", "kid": "1", "use": "sig", "alg": "RS256", "n": _text(number), "e": "AQAB"}
        self.jwks.write_text(json.dumps({"keys": [public]}))

    def token(self, claims: Mapping[str, object]) -> str:
        """These claims, signed."""
        parts = ({"alg": "RS256", "kid": "1", "typ": "JWT"}, claims)
        content = ".".join(_text(json.dumps(part).encode()) for part in parts)
        signature = _openssl("dgst", "-sha256", "-sign", str(self._key), given=content.encode())
        return f"{content}.{_text(signature)}"


class Client(NamedTuple):
    """Who may have a token, and which: `lifetime` in seconds; negative, and it comes out of date."""

    secret: str
    lifetime: float = 3600.0
    audience: str = AUDIENCE


class TokenServer:
    """Serves at `url` from start() to stop(), and again at the same port after the next start().

    `clients` are by their ids; a token's subject is the client id. `issued` keeps every token, by client.
    Whoever is refused finds the secret that it sent in the answer, as careless servers do.
    """

    def __init__(self, keys: Keys, certificate: Certificate, port: int) -> None:
        self._keys, self._port = keys, port
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(certificate.certificate, certificate.key)
        self.clients: dict[str, Client] = {}
        self.issued: dict[str, list[str]] = {}
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._port}/token"

    def start(self) -> None:
        server = self._server = _Server(("127.0.0.1", self._port), _handler(self))
        server.socket = self._tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, args=(0.05,), name="tokens", daemon=True).start()

    def stop(self) -> None:
        """Afterwards connections are refused."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def answer(self, name: str, secret: str) -> tuple[int, dict[str, object]]:
        """Status and body of what a client gets."""
        client = self.clients.get(name)
        if client is None or client.secret != secret:
            return 401, {"error": "invalid_client", "error_description": f"wrong secret {secret}"}
        now = time.time()
        claims = {"iss": ISSUER, "sub": name, "aud": client.audience, "iat": now, "jti": uuid4().hex}
        token = self._keys.token({**claims, "exp": now + client.lifetime})
        self.issued.setdefault(name, []).append(token)
        return 200, {"access_token": token, "token_type": "Bearer", "expires_in": client.lifetime}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that does not trust us hangs up: that is its right."""


def _handler(tokens: TokenServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            assert form["grant_type"] == ["client_credentials"]
            client, _, secret = (
                base64.b64decode(self.headers["Authorization"].split()[1]).decode().partition(":")
            )
            status, body = tokens.answer(client, secret) if self.path == "/token" else (404, {})
            encoded = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(encoded)))
            self.end_headers()
            self.wfile.write(encoded)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Standard error belongs to the tests."""

    return Handler


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _openssl(*arguments: str, given: bytes | None = None) -> bytes:
    return subprocess.run(["openssl", *arguments], input=given, capture_output=True, check=True).stdout
