"""What broke a target once, by target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_NO_FLAGS = b"\x00\x00"  # no flag, no variable: the rest is the file

FINDINGS: Mapping[str, Sequence[bytes]] = {
    "codec": (b'\x00{"message":"\\ud800"}', b'\x00{"message":"a","x":"\\udbff"}'),
    "normalizer": (),
    "settings": (
        _NO_FLAGS + b"a" + b".a" * 3_000 + b" = 1",
        _NO_FLAGS + b"[" + b"a." * 3_000 + b"a]",
        _NO_FLAGS + b"input.max_bytes = " + b"9" * 5_000,
        _NO_FLAGS + b'"a\\u001b[31m" = 1',
        _NO_FLAGS + b'"a\\nERROR forged" = 1',
    ),
    "dead_letters": (),
}
