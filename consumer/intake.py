"""Where records come in."""

from __future__ import annotations

from collections.abc import Mapping

from consumer.batcher import Batcher
from consumer.ends import Ends
from consumer.offsets import Ledger
from consumer.ports import Clock, Codec, Observer, Source
from consumer.records import Entry, Position, TopicPartition

_POSITIONS_EVERY = 1.0


class Intake:
    """Polls the source into the batcher and pauses it. Knows when it polled last."""

    def __init__(self, source: Source, codec: Codec, observer: Observer, clock: Clock) -> None:
        self._source, self._codec, self._observer, self._clock = source, codec, observer, clock
        self._positions_at = float("-inf")
        self.polled_at = clock.now()
        self.paused = False

    def poll(self, timeout: float, limit: int, batcher: Batcher, ends: Ends) -> int:
        """Poll once and hand every record to the batcher, also one that comes out while paused."""
        asked_at = self._clock.now()
        polled = self._source.poll(timeout, limit)
        self.polled_at = asked_at
        if polled.records:
            decode = self._codec.decode
            batcher.add([Entry(record, decode(record)) for record in polled.records], asked_at)
        ends.note(polled.records, polled.ends)
        now = self._clock.now()
        self._observer.polled(len(polled.records), now - asked_at, now)
        return len(polled.records)

    def pause(self, paused: bool) -> None:
        """Fetch nothing more, or go on. Pausing throws away what was fetched ahead."""
        if paused != self.paused:
            (self._source.pause if paused else self._source.resume)()
            self.paused = paused

    def tell_positions(self, now: float, ledger: Ledger) -> None:
        """Tell the observer where every owned partition stands, about once a second."""
        if now - self._positions_at < _POSITIONS_EVERY:
            return
        self._positions_at = now
        ends = self._source.log_ends()
        positions: Mapping[TopicPartition, Position] = {
            tp: Position(ledger.finished(tp), ends.get(tp)) for tp in ledger.partitions
        }
        self._observer.positions(positions, now)

    def ownership_changed(self) -> None:
        self._positions_at = float("-inf")
