"""The error families, by what the loop does with them.

    ConsumerError
    ├── BadRecord        this record → dead letter, go on
    ├── ScorerFailed     this batch → bisect to the record, or Fatal
    ├── Infrastructure   the same work again with back-off; never a dead letter
    ├── Fatal            no commit, exit 1; redelivery is the recovery
    └── Misconfigured    wrong settings or input, exit 2

A docstring is the default message.
"""

from __future__ import annotations

from collections.abc import Sequence

from consumer.records import Reason, Rejection


class ConsumerError(Exception):
    """The consumer failed."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (self.__doc__ or "").strip().splitlines()[0])


class BadRecord(ConsumerError):
    """This record cannot be processed."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.rejection = Rejection(reason, detail)


class ScorerFailed(ConsumerError):
    """The scorer failed on this batch."""


class Infrastructure(ConsumerError):
    """A service that we depend on does not answer."""


class Fatal(ConsumerError):
    """The process cannot go on; nothing unfinished was committed."""


class Misconfigured(ConsumerError):
    """Wrong settings or input. `problems` holds one line each: what, where, and how to mend it."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)
