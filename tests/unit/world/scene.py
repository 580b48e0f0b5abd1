"""The loop in its world: one process after the other over the same brokers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

from consumer.dedupe import NoMarks, SharedMarks
from consumer.isolation import Isolating
from consumer.pipeline import Pipeline, Ports
from consumer.records import TopicPartition
from consumer.settings import Batch, Commit, DeadLetter, Kafka, PipelineSection, Settings

from .broker import Broker, Log
from .clock import FakeClock
from .contract import SendRules
from .device import FakeCodec, FakeDevice
from .journal import Journal, Violation
from .marks import FakeStore, FakeTopicId
from .observer import FakeObserver
from .sink import FakeSink
from .source import FakeSource, Rebalance
from .transactions import FakeTransactions

P0, P1, P2 = (TopicPartition("in", n) for n in range(3))


def settings(
    *,
    count: int = 4,
    byte_size: int = 1_000_000,
    depth: int = 3,
    max_uncommitted: int = 1_000,
    interval: float = 1.0,
    max_poll_interval: float = 30.0,
    **sections: object,
) -> Settings:
    """Small batches, and limits on bad records out of the way unless a test sets them."""
    tree: dict[str, object] = {
        "kafka": Kafka(max_poll_interval=max_poll_interval),
        "batch": Batch(count=count, byte_size=byte_size),
        "pipeline": PipelineSection(depth=depth),
        "commit": Commit(interval=interval, max_uncommitted=max_uncommitted),
        "dead_letter": DeadLetter(max_run=10**9, ratio_window=10**9),
    }
    return Settings(**{**tree, **sections})  # type: ignore[arg-type]


class Scene:
    """Brokers, and the one process that lives now. `boot()` starts the next one."""

    def __init__(self, tree: Settings | None = None, policy: str = "earliest") -> None:
        self.settings = tree or settings()
        self.clock = FakeClock()
        self.journal = Journal(self.clock.now)
        self.broker = Broker(self.journal, policy)
        self.observer = FakeObserver(self.journal)
        self.store = FakeStore(self.clock)
        self._names = count()
        self.boot()

    def boot(self) -> None:
        """A new process: nothing but the brokers and the store survives."""
        self.source = FakeSource(self.clock, self.journal, self.broker)
        self.source.max_poll_interval = self.settings.kafka.max_poll_interval
        self.device = FakeDevice(self.clock, self.journal)
        self.sink = self._sink()
        self.rules = SendRules(self.broker, self.source, self.settings)
        self.sink.sending = self.rules.check
        scorer = Isolating(self.device, self.settings.scoring.max_failures)
        marks = SharedMarks("group", self.store, FakeTopicId()) if self.settings.dedupe.enabled else NoMarks()
        ports = Ports(self.source, FakeCodec(), scorer, self.sink, self.observer, self.clock, marks)
        self.pipeline = Pipeline(self.settings, ports)
        self.journal.note("boot")

    def _sink(self) -> FakeSink | FakeTransactions:
        if self.settings.exactly_once:
            policy = self.settings.transaction
            return FakeTransactions(self.source, self.clock, self.journal, self.broker, policy)
        return FakeSink(self.clock, self.journal, self.broker, self.source)

    # ---------------------------------------------------------------- what a test does

    def produce(self, partition: TopicPartition, *values: bytes | None) -> None:
        for value in values:
            self.broker.produce(partition, value)

    def fill(self, partition: TopicPartition, records: int) -> None:
        self.produce(partition, *(b"%d" % next(self._names) for _ in range(records)))

    def rebalance(self, *group: Rebalance) -> None:
        """These callbacks run inside the next poll that has none."""
        self.source.rebalances.append(group)

    def join(self, *partitions: TopicPartition, started: bool = True) -> None:
        """Subscribe and own these; `started`: the group has offsets for them already."""
        self.source.subscribe(self.pipeline)
        for tp in partitions:
            self.broker.logs.setdefault(tp, Log())
            if started:
                self.broker.commit({tp: self.broker.start_of(tp).offset})
        self.rebalance(("assigned", partitions))
        self.step()

    def step(self, steps: int = 1) -> None:
        for _ in range(steps):
            self.pipeline.step()

    def until(self, condition: Callable[[], bool], limit: int = 2_000) -> None:
        """Step until `condition()`; a loop that does not get there is a failure, not a hang."""
        for _ in range(limit):
            if condition():
                return
            self.pipeline.step()
        raise Violation(f"not reached within {limit} steps\n{self.journal.tail()}")

    def break_down(self, limit: int = 20_000) -> None:
        """Run until the loop raises something."""
        left = iter(range(limit))
        self.pipeline.run(lambda: next(left, None) is None)
        raise Violation(f"nothing broke within {limit} steps\n{self.journal.tail()}")

    def stop(self) -> None:
        self.pipeline.run(lambda: True)

    # ---------------------------------------------------------------- what a test asks

    def written(self, partition: TopicPartition) -> Sequence[int]:
        """Offsets of the output records of this partition, in the order in which they were appended."""
        return [w.offset for w in self.broker.written if w.source == partition]

    def committed(self, partition: TopicPartition) -> int | None:
        return self.broker.committed.get(partition)

    def settled(self) -> bool:
        """Everything that the brokers hold is written and committed."""
        return self.broker.lag() == 0
