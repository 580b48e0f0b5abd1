"""How many bad records are too many: a deploy that broke a decoder must not drain a topic."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from consumer.errors import Fatal
from consumer.records import Output, Rejection, TopicPartition, runs
from consumer.settings import DeadLetter


class _Window:
    """The recent past of one partition: `run` bad records at its end, (records, bad) per batch."""

    __slots__ = ("bad", "batches", "records", "run")

    def __init__(self) -> None:
        self.run = 0
        self.records = 0
        self.bad = 0
        self.batches: deque[tuple[int, int]] = deque()

    def add(self, flags: Sequence[bool], window: int) -> int:
        """Take one batch in; returns the longest run of bad records that it reached."""
        longest = self._runs(flags)
        self.batches.append((len(flags), sum(flags)))
        self.records += len(flags)
        self.bad += sum(flags)
        while self.records - self.batches[0][0] >= window:
            records, bad = self.batches.popleft()
            self.records -= records
            self.bad -= bad
        return longest

    def _runs(self, flags: Sequence[bool]) -> int:
        longest = self.run
        if True not in flags:
            self.run = 0
            return longest
        for bad in flags:
            self.run = self.run + 1 if bad else 0
            longest = max(longest, self.run)
        return longest


class BadRecordLimits:
    """Stops the process before it publishes the batch that crosses a limit of `dead_letter.*`."""

    def __init__(self, policy: DeadLetter) -> None:
        self._policy = policy
        self._windows: dict[TopicPartition, _Window] = {}

    def check(self, outputs: Sequence[Output]) -> None:
        """Count one batch, once. Raises Fatal naming the partition, an offset and the setting to lift."""
        flags: dict[TopicPartition, list[bool]] = {}
        last: dict[TopicPartition, Output] = {}
        for partition, first, end in runs([output.entry.record for output in outputs]):
            found = [isinstance(output.verdict, Rejection) for output in outputs[first:end]]
            flags.setdefault(partition, []).extend(found)
            if True in found:
                last[partition] = outputs[end - 1 - found[::-1].index(True)]
        for partition, seen in flags.items():
            window = self._windows.setdefault(partition, _Window())
            longest = window.add(seen, self._policy.ratio_window)
            if partition in last:
                self._judge(partition, window, longest, last[partition])

    def _judge(self, partition: TopicPartition, window: _Window, longest: int, last: Output) -> None:
        record, rejection = last.entry.record, last.verdict
        assert isinstance(rejection, Rejection)
        where = f"{partition}, last at offset {record.offset} ({rejection.reason}: {rejection.detail})"
        if longest > self._policy.max_run:
            raise Fatal(
                f"{longest} bad records in a row on {where}. Nothing of this batch was published. If they "
                f"are to become dead letters, raise dead_letter.max_run (now {self._policy.max_run})."
            )
        full = window.records >= self._policy.ratio_window
        if full and window.bad > self._policy.max_ratio * window.records:
            raise Fatal(
                f"{window.bad} of the last {window.records} records are bad on {where}. Nothing of this "
                f"batch was published. If they are to become dead letters, raise dead_letter.max_ratio "
                f"(now {self._policy.max_ratio})."
            )

    def forget(self, partition: TopicPartition) -> None:
        """The partition is not ours any more."""
        self._windows.pop(partition, None)
