"""What the delivery contract says about every single send, and about the logs at the end."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from consumer.records import Output, TopicPartition
from consumer.settings import Settings

from .broker import Broker
from .journal import Violation
from .source import FakeSource


class SendRules:
    """Checks each output the moment one process sends it. `spread` is the bound on records that are
    sent but not committed: depth x batch.count + commit.max_uncommitted."""

    def __init__(self, broker: Broker, source: FakeSource, settings: Settings) -> None:
        self._broker, self._source = broker, source
        self.spread = spread(settings)
        self._reached: dict[TopicPartition, tuple[int | None, int]] = {}  # epoch, next offset

    def check(self, output: Output) -> None:
        record = output.entry.record
        tp, epoch = record.source, record.timestamp
        if tp not in self._broker.committed:
            raise Violation(f"{tp} was sent before its first offset was committed")
        owner = self._broker.epochs[tp] == epoch  # a member that was expelled does not know it yet
        if owner and record.offset < self._broker.committed[tp]:
            raise Violation(f"{tp} at {record.offset} was sent although it is committed")
        if self._reached.get(tp, (None,))[0] != epoch:
            self._reached[tp] = (epoch, self._source.starts[tp])
        self._advance(tp, record.offset)

    def _advance(self, tp: TopicPartition, offset: int) -> None:
        epoch, following = self._reached[tp]
        if offset < following:
            return  # a repeat
        skipped = self._broker.logs[tp].readable(following, offset)
        if skipped:
            raise Violation(f"I10: {tp} goes from {following} to {offset} without {skipped}")
        self._reached[tp] = (epoch, offset + 1)
        if (exposed := self.exposed()) > self.spread:
            raise Violation(f"I4: {exposed} records are sent but not committed, {self.spread} may be")

    def exposed(self) -> int:
        """Records of the present assignments that are sent but not committed."""
        total = 0
        for tp, (epoch, following) in self._reached.items():
            if self._source.epochs.get(tp) == epoch:
                total += len(self._broker.logs[tp].readable(self._broker.committed[tp], following))
        return total


def spread(settings: Settings) -> int:
    under_way = settings.pipeline.depth * settings.batch.count
    if settings.exactly_once:
        return under_way + settings.transaction.max_records
    return under_way + settings.commit.max_uncommitted


def check_the_end(broker: Broker, disturbances: int, settings: Settings) -> None:
    """I1, I4, I5, I6, I14 on what the brokers hold once everything is quiet."""
    for tp, log in broker.logs.items():
        written = [w.offset for w in broker.written if w.source == tp]
        missing = set(broker.required(tp)) - broker.acknowledged[tp]
        if missing or not set(broker.required(tp)) <= set(written):
            raise Violation(f"I1: {tp} lost {sorted(missing)}")
        if broker.committed[tp] != log.end:
            raise Violation(f"I14: {tp} is committed to {broker.committed[tp]} of {log.end}")
    allowed = 0 if settings.exactly_once else disturbances
    _check_duplicates(broker, allowed, settings)
    _check_order(broker, allowed)


def _check_duplicates(broker: Broker, disturbances: int, settings: Settings) -> None:
    distinct = {(w.source, w.offset) for w in broker.written}
    duplicates = len(broker.written) - len(distinct)
    bound = disturbances * spread(settings)
    if duplicates > bound:
        raise Violation(f"I4: {duplicates} duplicates, {bound} allowed by {disturbances} disturbances")


def _check_order(broker: Broker, disturbances: int) -> None:
    """In each queue the last copies of a partition's records are in order, and it goes back only at a
    disturbance. What a former owner delivered late is left out."""
    queues: dict[tuple[str, TopicPartition], list[int]] = defaultdict(list)
    for w in broker.written:
        if not w.late:
            queues[w.queue, w.source].append(w.offset)
    for (queue, tp), offsets in queues.items():
        last = {offset: place for place, offset in enumerate(offsets)}
        order = sorted(last, key=last.__getitem__)
        if order != sorted(order):
            raise Violation(f"I6: last copies of {tp} in {queue} are out of order: {offsets}")
        backwards = sum(b <= a for a, b in pairwise(offsets))
        if backwards > disturbances:
            raise Violation(f"I6: {tp} in {queue} goes back {backwards} times: {offsets}")
