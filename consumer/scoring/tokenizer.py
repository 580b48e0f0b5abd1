"""A small byte-level BPE, learnt from the items themselves.

It has no special tokens: every id that the tokenizer can produce is a piece of text, and the mark
that begins each text is an id beyond them. So no text can reach a control token, whatever it spells,
and no byte is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

VOCABULARY = 512


class Span(NamedTuple):
    """Characters [start, end) of an item."""

    start: int
    end: int


class ItemTokenizer:
    """Items to token ids. Thread-safe once made."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.mark: int = tokenizer.get_vocab_size()

    @classmethod
    def learn(cls, items: Sequence[str]) -> ItemTokenizer:
        """At most VOCABULARY ids, the mark included; the same items give the same ids."""
        tokenizer = Tokenizer(BPE())
        tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
        tokenizer.decoder = ByteLevelDecoder()
        trainer = BpeTrainer(
            vocab_size=VOCABULARY - 1,
            min_frequency=2,
            initial_alphabet=sorted(ByteLevel.alphabet()),
            show_progress=False,
        )
        tokenizer.train_from_iterator(map(_encodable, items), trainer)
        return cls(tokenizer)

    @classmethod
    def from_json(cls, text: str) -> ItemTokenizer:
        """The inverse of to_json(). Raises ValueError for another text."""
        try:
            return cls(Tokenizer.from_str(text))
        except Exception as error:  # the library raises nothing more precise
            raise ValueError(f"tokenizer.json: {error}") from error

    def to_json(self) -> str:
        """The text of a tokenizer.json."""
        text: str = self._tokenizer.to_str()
        return text

    @property
    def size(self) -> int:
        """Ids in all, the mark included."""
        return self.mark + 1

    def ids(self, items: Sequence[str]) -> list[list[int]]:
        """Token ids of each item, without the mark."""
        encodings = self._tokenizer.encode_batch_fast(list(map(_encodable, items)))
        return [encoding.ids for encoding in encodings]

    def spans(self, item: str) -> list[Span]:
        """The characters of each token. Tokens that share one character have the same span."""
        return [Span(*offsets) for offsets in self._tokenizer.encode(_encodable(item)).offsets]


def _encodable(item: str) -> str:
    """Lone surrogates have no UTF-8 form; each becomes a question mark, so that places stay."""
    return item if item.isascii() else item.encode("utf-8", "replace").decode()
