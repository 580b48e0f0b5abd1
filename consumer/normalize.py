"""From a message to the text that is scored: variables masked, white space and controls made one space.

No character below 0x20 is left in a normalised text, so control tokens of a tokenizer that are spelt
with one cannot be reached from any message.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from consumer.masks import Mask, Masks

__all__ = ["BLANK", "Mask", "Masks", "Normalized", "Normalizer", "level_prefix"]

BLANK = "<blank>"  # the model input of a message with nothing in it but white space
_ODD_SPACE = "\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
# Colour sequences; white space and controls, unless it is one plain blank; halves of surrogate pairs,
# which cannot be encoded.
_CLEANED = (
    rf"\x1b\[[0-9;]*[A-Za-z]|[\x00-\x20\x7f-\xa0{_ODD_SPACE}]{{2,}}"
    rf"|[\x00-\x1f\x7f-\xa0{_ODD_SPACE}]|[\ud800-\udfff]"
)
_ZERO_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_CACHED_CHARS = 4_096  # a longer text is masked anew each time
_LEVEL_CHARS = 16
_NOT_LEVEL = re.compile(r"[^a-z0-9_-]+")


class _Piece(NamedTuple):
    """`text` stands for the characters [start, end) of the message."""

    text: str
    start: int
    end: int
    mask: bool


class Normalized(NamedTuple):
    """`starts[i]` and `ends[i]`: the characters of the message that character i of `text` stands for.
    Both never decrease."""

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Characters [start, end) of `text`, not empty, as a range of the message."""
        return self.starts[start], self.ends[end - 1]


class Normalizer:
    """Masks messages. A pure function of the message and the masks; the memory behind it is bounded.

    With masks that are blind to which digit a digit is, looked up by the message with all digits set
    to 0 (length and positions stay), so that a line with new numbers in it costs one look-up; with
    other masks by the message itself. Not for several threads at once.
    """

    def __init__(self, masks: Masks | None = None, memory_chars: int = 16_000_000) -> None:
        """Raises Misconfigured for masks that cannot be used. `memory_chars` bounds what is remembered."""
        self.masks = Masks() if masks is None else masks
        self._pattern = self.masks.compiled(_CLEANED)
        self._names = {f"m{i}": f"<{mask.name}>" for i, mask in enumerate(self.masks.rules)}
        self._table = _ZERO_DIGITS if self.masks.blind() else None
        self._memory = _Memory(memory_chars // 2)

    def normalize(self, message: str) -> str:
        """The masked text; empty when the message is nothing but white space and controls."""
        if len(message) > _CACHED_CHARS:
            return self._mask(message)
        key = message.encode("utf-8", "surrogatepass").translate(self._table)
        found = self._memory.get(key)
        if found is None:
            found = self._memory.put(key, self._mask(message))
        return found

    def spans(self, message: str) -> Normalized:
        """`normalize`, with where each of its characters comes from. Not remembered."""
        starts: list[int] = []
        ends: list[int] = []
        pieces = self._pieces(message)
        for piece in pieces:
            whole = piece.mask or len(piece.text) != piece.end - piece.start
            starts += [piece.start] * len(piece.text) if whole else range(piece.start, piece.end)
            ends += [piece.end] * len(piece.text) if whole else range(piece.start + 1, piece.end + 1)
        return Normalized("".join(p.text for p in pieces), tuple(starts), tuple(ends))

    def model_input(self, level: str | None, message: str) -> str:
        """What is scored, counted and cached: the level, where there is one, then the masked message."""
        text = self.normalize(message) or BLANK
        return level_prefix(level) + text if level else text

    def _mask(self, message: str) -> str:
        return "".join([piece.text for piece in self._pieces(message)])

    def _pieces(self, message: str) -> list[_Piece]:
        pieces: list[_Piece] = []
        end = 0
        for match in self._pattern.finditer(message):
            start = match.start()
            if start > end:
                pieces.append(_Piece(message[end:start], end, start, False))
            end = match.end()
            _append(pieces, self._replaced(match))
        if end < len(message):
            pieces.append(_Piece(message[end:], end, len(message), False))
        return _trimmed(pieces)

    def _replaced(self, match: re.Match[str]) -> _Piece:
        group = match.lastgroup or "first"
        start, end = match.span()
        if group != "first":
            return _Piece(self._names[group], start, end, True)
        kind = match.group()
        if kind[0] == "\x1b" and kind[-1].isalpha():
            return _Piece("", start, end, False)
        return _Piece("\ufffd" if "\ud800" <= kind <= "\udfff" else " ", start, end, False)


def _trimmed(pieces: list[_Piece]) -> list[_Piece]:
    """Without blanks at either end; changes the list."""
    while pieces and not pieces[-1].text.strip(" "):
        pieces.pop()
    while pieces and not pieces[0].text.strip(" "):
        pieces.pop(0)
    if pieces and pieces[-1].text[-1] == " ":
        pieces[-1] = pieces[-1]._replace(text=pieces[-1].text[:-1], end=pieces[-1].end - 1)
    if pieces and pieces[0].text[0] == " ":
        pieces[0] = pieces[0]._replace(text=pieces[0].text[1:], start=pieces[0].start + 1)
    return pieces


def _append(pieces: list[_Piece], piece: _Piece) -> None:
    """Masks that touch become the first of them; equal ones with one blank between become one."""
    if piece.mask and pieces and pieces[-1].mask:
        pieces[-1] = pieces[-1]._replace(end=piece.end)
    elif piece.mask and len(pieces) > 1 and pieces[-1].text == " " and pieces[-2].text == piece.text:
        pieces.pop()
        pieces[-1] = pieces[-1]._replace(end=piece.end)
    else:
        pieces.append(piece)


def level_prefix(level: str | None) -> str:
    """`<error> ` for `ERROR`: lower case, letters, digits, `_` and `-` only, at most 16 of them."""
    name = _NOT_LEVEL.sub("", (level or "").lower())[:_LEVEL_CHARS]
    return f"<{name}> " if name else ""


class _Memory:
    """Text by key, in two generations: when the young one is full it becomes the old one, and what is
    asked for again comes back. Holds at most twice `limit` characters."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._young: dict[bytes, str] = {}
        self._old: dict[bytes, str] = {}
        self._chars = 0

    def get(self, key: bytes) -> str | None:
        found = self._young.get(key)
        if found is not None:
            return found
        found = self._old.get(key)
        return None if found is None else self.put(key, found)

    def put(self, key: bytes, text: str) -> str:
        self._chars += len(key) + len(text)
        if self._chars > self._limit:
            self._old, self._young, self._chars = self._young, {}, len(key) + len(text)
        self._young[key] = text
        return text

    def __len__(self) -> int:
        return len(self._young) + len(self._old)
