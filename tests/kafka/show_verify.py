"""`consumer verify` on 1,000,000 records with faults planted among them: python -m tests.kafka.show_verify

This program writes input, results and dead letters itself, in bulk. Half of the partitions are flawless and
are audited alone first. Exit 0 if the audit says of each half what is true of it: no more and no less.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from confluent_kafka import Producer

from tests.kafka.audited import Audit, Audited, key_of
from tests.kafka.cluster import Cluster
from tests.kafka.replicas import ROOT
from tests.kafka.topics import Topics

PARTITIONS, EACH = 8, 125_000
FLAWLESS = "0-3"
ABORTED = 10  # records of an aborted transaction behind the last one of partition 7

EXPECTED = {
    "missing": 6,
    "commit_ahead": 3,
    "duplicate": 4,
    "rescored": 1,
    "differing_repeat": 1,
    "result_and_dead_letter": 1,
    "order_break": 1,
    "phantom": 2,
    "non_finite": 2,
    "wrong_key": 1,
    "wrong_id": 1,
    "malformed": 1,
    "altered": 1,
}
"""What `planted` and the dead letters do, as the audit must count it."""

Written = tuple[bytes, bytes]  # key and value


class Run(NamedTuple):
    """An audit, and what its process took."""

    audit: Audit
    seconds: float
    processor: float
    peak_mib: float


class Bulk:
    """Writes at the speed of the client."""

    def __init__(self, world: Audited) -> None:
        self.world = world
        self._producer = Producer(
            {
                "bootstrap.servers": world.bootstrap,
                "compression.type": "lz4",
                "linger.ms": 50,
                "queue.buffering.max.messages": 1_000_000,
                "log_level": 0,
            }
        )
        self._forms = [self._form(partition) for partition in range(PARTITIONS)]

    def feed(self) -> None:
        for partition in range(PARTITIONS):
            for offset in range(EACH):
                self._put(self.world.input, partition, key_of(partition, offset), _line(offset))
        self._producer.flush(120)
        aborting = self.world.transactional("aborted")
        aborting.begin_transaction()
        self.world.feed(7, ABORTED, aborting)
        aborting.flush(30)
        aborting.abort_transaction(30)

    def answer(self) -> None:
        """Results and dead letters, right ones and planted ones."""
        planted = self.planted()
        for partition in range(PARTITIONS):
            for offset in range(EACH):
                if _is_dead(offset):
                    wrong = {"value_sha256": b"of another value"} if (partition, offset) == (7, 1_500) else {}
                    self.world.reject(partition, offset, **wrong)
                for key, value in planted.get((partition, offset), self._usual(partition, offset)):
                    self._put(self.world.results, partition, key, value)
        self._producer.flush(120)
        self.world.flush()

    def planted(self) -> Mapping[tuple[int, int], list[Written]]:
        """What is written in place of the one right result of a record."""
        last, right, wrong = EACH - 1, self._right, self._wrong
        nan = self.world.body(6, 100, score=0.25)
        return {
            **{(4, offset): [] for offset in (10, 20, 21)},  # missing
            **{(4, offset): [] for offset in range(last - 2, last + 1)},  # and the commit is ahead
            (5, 50_000): [],
            (5, 50_001): [right(5, 50_001), right(5, 50_000)],  # in the wrong order
            (5, 60_003): [right(5, offset) for offset in (60_003, 60_000, 60_001, 60_002, 60_003)],
            (6, 100): [(key_of(6, 100), msgspec.json.encode(nan).replace(b"0.25", b"NaN", 1))],
            (6, 101): [wrong(6, 101, score=None)],
            (6, 102): [wrong(6, 102, id=f"{self.world.input}|6|103")],
            (6, 103): [wrong(6, 103, schema_version=2)],
            (6, 104): [(b"another key", wrong(6, 104, input__key="another key")[1])],
            (6, 105): [right(6, 105), wrong(6, 105, model__version="another")],
            (6, 106): [right(6, 106), wrong(6, 106, message="another")],
            (6, 107): [right(6, 107), right(6, 10**9)],  # of no record
            (7, 500): [right(7, 500)],  # beside its dead letter
            (7, last): [right(7, last), right(7, EACH)],  # of an aborted record
        }

    def _usual(self, partition: int, offset: int) -> Iterator[Written]:
        if not _is_dead(offset):
            yield self._right(partition, offset)

    def _right(self, partition: int, offset: int) -> Written:
        return key_of(partition, offset), self._forms[partition] % ((offset,) * 5)

    def _wrong(self, partition: int, offset: int, **changes: Any) -> Written:
        return key_of(partition, offset), msgspec.json.encode(self.world.body(partition, offset, **changes))

    def _form(self, partition: int) -> bytes:
        """A right result with blanks for its offset: in id, coordinates, key, score and message."""
        body = self.world.body(partition, 77_777, score=77_777.5)
        return msgspec.json.encode(body).replace(b"77777", b"%d")

    def _put(self, topic: str, partition: int, key: bytes, value: bytes) -> None:
        while True:
            try:
                self._producer.produce(topic, value, key, partition=partition)
            except BufferError:
                self._producer.poll(0.1)
                continue
            self._producer.poll(0)
            return


def _is_dead(offset: int) -> bool:
    return offset % 1_000 == 500


def _line(offset: int) -> bytes:
    return b"line %d of a log, as long as such lines are: request took %d ms on node-%d" % (
        offset,
        offset % 2_000,
        offset % 12,
    )


def measured(world: Audited, *arguments: str) -> Run:
    """Run the audit; its own process tells what it took."""
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "report").open("w+b") as out:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("CONSUMER_")}
        began = time.monotonic()
        command = [sys.executable, "-m", "consumer", *world.arguments(*arguments)]
        process = subprocess.Popen(command, cwd=ROOT, env=clean, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        report = msgspec.json.decode((Path(folder) / "report").read_bytes(), type=dict[str, Any])
    processor = usage.ru_utime + usage.ru_stime
    return Run(Audit(process.returncode, report, ""), seconds, processor, usage.ru_maxrss / 1_024)


def told(name: str, run: Run) -> None:
    records, audit = run.audit.sum("records"), run.audit
    out(f"\n{name}: exit {audit.code}, {audit.report['summary']}")
    out(
        f"  {records:,} records and their output in {audit.report['seconds']:.1f} s: "
        f"{records / audit.report['seconds']:,.0f} records/s"
    )
    out(
        f"  the process, its start included: {run.seconds:.1f} s, {run.processor:.1f} s of processor time, "
        f"peak resident memory {run.peak_mib:.0f} MiB"
    )


def compared(found: Mapping[str, int]) -> bool:
    out(f"\n  {'':<24}{'planted':>9}{'found':>9}")
    for kind in {**EXPECTED, **found}:
        out(f"  {kind:<24}{EXPECTED.get(kind, 0):>9}{found.get(kind, 0):>9}")
    return found == EXPECTED


def out(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    cluster = Cluster()
    try:
        cluster.start()
        cluster.wait_ready()
        world = Audited(cluster.bootstrap, Topics(cluster.bootstrap), "million", (PARTITIONS, PARTITIONS))
        bulk = Bulk(world)
        began = time.monotonic()
        bulk.feed()
        bulk.answer()
        world.commit(**{f"p{p}": EACH for p in range(7)}, p7=EACH + ABORTED + 1)
        out(f"written: {PARTITIONS * EACH:,} records and their output in {time.monotonic() - began:.0f} s")
        flawless = measured(world, "--partitions", FLAWLESS)
        told(f"partitions {FLAWLESS}, flawless", flawless)
        everything = measured(world)
        told("all partitions, with planted faults", everything)
        exact = compared(everything.audit.found())
    finally:
        cluster.close()
    return 0 if exact and flawless.audit.code == 0 and everything.audit.code == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
