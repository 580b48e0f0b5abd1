"""A batch that was sent into a transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from confluent_kafka import KafkaError, Message

from consumer.errors import Infrastructure
from consumer.kafka.messages import Outgoing
from consumer.records import Output, TopicPartition


class Working(Protocol):
    """The sink, as a receipt needs it."""

    def wait(self, receipt: TransactionReceipt, deadline: float) -> None:
        """Work until the receipt is done or `deadline`."""
        ...

    def note(self, error: KafkaError, receipt: TransactionReceipt, value: bytes | None) -> None:
        """A message of it failed."""
        ...


class TransactionReceipt:
    """What became of a batch's transaction."""

    def __init__(
        self,
        sink: Working,
        outputs: Sequence[Output],
        messages: Sequence[Outgoing],
        offsets: Mapping[TopicPartition, int],
    ) -> None:
        self.outputs = outputs
        self.messages = messages
        self.size = sum(output.entry.record.size for output in outputs)  # bytes
        self._sink = sink
        self._offsets = offsets
        self._done = False
        self._failure: Infrastructure | None = None

    def __len__(self) -> int:
        return len(self.outputs)

    # ---------------------------------------------------------------- Receipt

    def done(self) -> bool:
        return self._done

    def wait(self, deadline: float) -> bool:
        self._sink.wait(self, deadline)
        return self._done

    def failure(self) -> Infrastructure | None:
        return self._failure

    def offsets(self) -> Mapping[TopicPartition, int]:
        return self._offsets

    def committed(self) -> bool:
        return True

    # ---------------------------------------------------------------- used by the sink

    def end(self, failure: Infrastructure | None) -> None:
        self._done, self._failure = True, failure

    def outputs_of(self, value: bytes | None) -> list[Output]:
        return [o for o, m in zip(self.outputs, self.messages, strict=True) if m.value == value]

    # ---------------------------------------------------------------- delivery reports

    def delivered(self, error: KafkaError | None, message: Message) -> None:
        """Called by the client inside its other calls, so it only takes notes."""
        if error is not None:
            self._sink.note(error, self, message.value())

    def refused(self, error: KafkaError, message: Outgoing) -> None:
        """The client would not even queue it."""
        self._sink.note(error, self, message.value)
