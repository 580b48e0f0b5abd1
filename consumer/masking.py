"""What may be shown of a value. Every dump and every message about settings goes through here."""

from __future__ import annotations

import re

MASK = "********"

# Names of librdkafka keys, variables and settings whose values nobody may see.
_SECRET = re.compile(
    r"passw|pasw|psw|secret|credential|token(?!s|\.endpoint|_url)|jaas|\.pem$|_pem$|oauthbearer[._]config|private",
    re.IGNORECASE,
)
_USERINFO = re.compile(r"(?<=//)[^/@\s]*@")
_LONGEST = 120


def is_secret(name: str) -> bool:
    """Whether the name alone says that its value is a secret (a name that ends in `_file` is a path)."""
    return bool(_SECRET.search(name)) and not name.lower().endswith(("_file", ".location"))


def shown_name(name: str) -> str:
    """A name that somebody else chose, as it may stand in a line: escaped and cut."""
    line = name if name.isprintable() else ascii(name)[1:-1]
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def shown(value: object, *, secret: bool = False) -> str:
    """One printable line for a value: masked when secret, else quoted, escaped and cut."""
    if secret and value is not None:
        return MASK
    text = _USERINFO.sub(f"{MASK}@", value) if isinstance(value, str) else value
    line = ascii(text) if isinstance(text, str) and not text.isprintable() else repr(text)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
