"""How a normal message becomes an odd one: one function for each kind."""

from __future__ import annotations

import re
from functools import lru_cache
from random import Random
from typing import Final

from consumer.demo.fleet import Fleet, Template
from consumer.demo.formats import LEVELS_NEVER_USED, Line
from consumer.demo.grammar import filled, slots_of
from consumer.demo.slots import MEASURED, Values

_WORD: Final = re.compile(r"[A-Za-z][A-Za-z_-]{2,}")
_ORDERS_TRIED: Final = 50
_ABSURD: Final = ("-1", "0", "99999999999", "2147483648", "-2147483648", "1000000000")


def known(fleet: Fleet, rng: Random, *, words: int = 1, leveled: bool = False) -> Template:
    """Any message of the fleet, its rare ones as likely as its common ones, that has `words` words."""
    fit = [
        t
        for t in fleet.templates()
        if _words_of(t.text) >= words and (t.level != "-" or not leveled) and "\n" not in t.text
    ]
    return rng.choice(fit)


def said(fleet: Fleet, rng: Random, template: Template, odd: str | None = None) -> Line:
    """The template with its slots filled."""
    return Line(template.service, template.level, filled(template.text, Values(rng, fleet.words, odd)))


def odd_order(fleet: Fleet, rng: Random) -> tuple[Template, Line]:
    """The words of a message shuffled until at least half of its neighbours are new."""
    template = known(fleet, rng, words=5)
    line = said(fleet, rng, template)
    words = line.message.split(" ")
    order = list(words)
    for _ in range(_ORDERS_TRIED):
        rng.shuffle(order)
        if _new_neighbours(words, order) >= len(words) // 2:
            break
    return template, Line(line.service, line.level, " ".join(order))


def odd_token(fleet: Fleet, rng: Random) -> tuple[Template, Line]:
    """One word of a message replaced: by a misspelling, by letters without sense, or by what programs
    leave behind when they are broken or attacked."""
    template = known(fleet, rng, words=2)
    line = said(fleet, rng, template)
    found = rng.choice(list(_WORD.finditer(line.message)))
    make = rng.choice((_misspelt, _scrambled, _foreign))
    odd = make(found.group(), fleet, rng)
    return template, Line(
        line.service, line.level, line.message[: found.start()] + odd + line.message[found.end() :]
    )


def rare_level(fleet: Fleet, rng: Random) -> tuple[Template, Line]:
    template = known(fleet, rng, leveled=True)
    line = said(fleet, rng, template)
    return template, Line(line.service, rng.choice(LEVELS_NEVER_USED[line.service]), line.message)


def odd_value(fleet: Fleet, rng: Random) -> tuple[Template, Line]:
    """An absurd amount where an ordinary one stands."""
    template = known(fleet, rng)
    while not set(slots_of(template.text)) & set(MEASURED):
        template = known(fleet, rng)
    return template, said(fleet, rng, template, rng.choice(_ABSURD))


def malformed(value: bytes, rng: Random) -> bytes:
    """A JSON event that broke on its way: cut, garbled, or of another shape. Still starts with `{`."""
    return rng.choice((_cut, _unquoted, _not_utf8, _without_message, _message_is_number))(value, rng)


@lru_cache(maxsize=2_000)
def _words_of(text: str) -> int:
    """How many words a template brings itself."""
    return len(_WORD.findall(filled(text, _Blank())))


class _Blank:
    """Every slot filled with a digit, so that only the template's own words are counted."""

    def __getitem__(self, name: str) -> str:
        return "0"


def _new_neighbours(words: list[str], order: list[str]) -> int:
    """Pairs of neighbours in `order` that `words` does not have, numbers counting as equal."""
    before = set(zip(map(_plain, words), map(_plain, words[1:]), strict=False))
    after = zip(map(_plain, order), map(_plain, order[1:]), strict=False)
    return sum(pair not in before for pair in after)


def _plain(word: str) -> str:
    return re.sub(r"[0-9a-f]*[0-9][0-9a-f]*", "0", word)


def _misspelt(word: str, _fleet: Fleet, rng: Random) -> str:
    """Two slips of the keyboard: letters doubled, swapped or replaced."""
    letters = list(word)
    for _ in range(2):
        at = rng.randrange(len(letters) - 1)
        slip = rng.randrange(3)
        if slip == 0:
            letters[at : at + 2] = [letters[at + 1], letters[at]]
        elif slip == 1:
            letters.insert(at, letters[at])
        else:
            letters[at] = rng.choice("qwxzjkvy")
    odd = "".join(letters)
    return odd if odd != word else odd[::-1] + "q"


def _scrambled(_word: str, _fleet: Fleet, rng: Random) -> str:
    return "".join(rng.choice("abcdefghijklmnopqrstuvwxyzQXZ") for _ in range(rng.randint(6, 12)))


def _foreign(_word: str, fleet: Fleet, rng: Random) -> str:
    return rng.choice(fleet.words["odd_token"])


def _cut(value: bytes, rng: Random) -> bytes:
    return value[: rng.randrange(len(value) // 3, len(value) - 1)]


def _unquoted(value: bytes, _rng: Random) -> bytes:
    return value.replace(b'"message":"', b'"message":', 1)


def _not_utf8(value: bytes, rng: Random) -> bytes:
    at = value.index(b'"message":"') + len(b'"message":"') + rng.randint(0, 5)
    return value[:at] + b"\xc3\x28\xff" + value[at:]


def _without_message(value: bytes, _rng: Random) -> bytes:
    return value.replace(b'"message":', b'"msg_id":', 1)


def _message_is_number(value: bytes, rng: Random) -> bytes:
    return re.sub(rb'"message":"(?:[^"\\]|\\.)*"', b'"message":%d' % rng.randrange(10_000), value, count=1)
