"""The order of the results of one input partition within one output partition."""

from __future__ import annotations

from typing import NamedTuple


class Late(NamedTuple):
    """Results that came behind one of a later record: how many, and the first: its input offset and where
    its result lies."""

    records: int
    offset: int
    at: int


class Line:
    """Follows the offsets in the order of the log.

    A first result behind that of a later record is late. Under at-least-once that is what a repeated send
    looks like, as long as everything behind it is repeated too: it is forgiven once the last record that
    had overtaken it comes again. With `exact` nothing is forgiven.
    """

    __slots__ = ("_exact", "_high", "_late", "_overtaken_by")

    def __init__(self, *, exact: bool) -> None:
        self._exact = exact
        self._high = self._overtaken_by = -1
        self._late: Late | None = None

    def take(self, offset: int, at: int, *, first: bool) -> Late | None:
        """The result of input `offset` lies at `at`. Returns what is now known to be out of order."""
        if offset > self._high:
            self._high = offset
            return self.end() if self._late else None
        if first:
            known = self._late
            self._late = Late(1, offset, at) if known is None else known._replace(records=known.records + 1)
            self._overtaken_by = self._high
            return self.end() if self._exact else None
        if offset == self._overtaken_by:
            self._late = None
        return None

    def end(self) -> Late | None:
        """What is late and was not made good until here."""
        late, self._late = self._late, None
        return late
