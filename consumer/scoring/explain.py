"""Which words of a text surprised the model: from token pieces to words to the original message."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from consumer.normalize import Normalized
from consumer.records import Token

TOP = 5
_WORD = re.compile(r"<[a-z0-9_-]{1,16}>|\w+|(?:(?!<[a-z0-9_-]{1,16}>)[^\w\s])+")  # a mask, letters, marks


class Word(NamedTuple):
    """Characters [start, end) of an item, and the surprisal of the tokens that begin in it, in nats."""

    start: int
    end: int
    surprisal: float


def surprising_words(item: str, spans: Sequence[tuple[int, int]], nats: Sequence[float]) -> tuple[Word, ...]:
    """The words with the greatest sums of their tokens' surprisals, greatest first; one more than TOP,
    because the level may be one of them. `spans` are the tokens' characters in the item."""
    words = [match.span() for match in _WORD.finditer(item)]
    starts = [start for start, _ in words]
    sums = [0.0] * len(words)
    for (start, end), surprisal in zip(spans, nats, strict=True):
        index = bisect_right(starts, _first_visible(item, start, end)) - 1
        if index >= 0:
            sums[index] += float(surprisal)
    found = [Word(*span, total) for span, total in zip(words, sums, strict=True) if total > 0]
    return tuple(sorted(found, key=lambda word: -word.surprisal)[: TOP + 1])


def _first_visible(item: str, start: int, end: int) -> int:
    """Tokens carry the blank before a word."""
    while start < end - 1 and item[start].isspace():
        start += 1
    return start


def tokens(message: str, words: Sequence[Word], normalized: Normalized, begin: int) -> tuple[Token, ...]:
    """At most TOP words of an item as pieces of the message that it was made from. What stands before
    `begin` is the level and no part of the message."""
    found = []
    for word in words:
        if begin <= word.start and word.end - begin <= len(normalized.text):
            start, end = normalized.original(word.start - begin, word.end - begin)
            found.append(Token(message[start:end], start, end, word.surprisal))
    return tuple(found[:TOP])
