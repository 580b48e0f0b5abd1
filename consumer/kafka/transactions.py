"""Results, dead letters and offsets in one transaction: exactly once for read_committed subscribers."""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from consumer.errors import Fatal, Infrastructure, Misconfigured
from consumer.kafka.config import transactional_config
from consumer.kafka.messages import Outgoings
from consumer.kafka.outlet import Outlet
from consumer.kafka.oversize import Oversize
from consumer.kafka.transaction_receipt import TransactionReceipt
from consumer.ports import Observer
from consumer.records import Output, TopicPartition
from consumer.settings import Settings

_CALL = 5.0  # longest time that one transactional call may block the loop; it is called again then
_START = 60.0
_NAP = 0.01
_NOT_OURS = "partitions in it are not ours any more"
# What a message is told when another one failed before it, or by our own abort.
_CONSEQUENCES = frozenset((KafkaError._STATE, KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT))


class Member(Protocol):
    """The group's side of a transaction."""

    def group_metadata(self) -> Any:
        """Who we are in the group now: asked for each transaction, because it names the generation."""
        ...

    def positions(self, offsets: Mapping[TopicPartition, int]) -> list[KafkaPartition]:
        """What is committed for these next offsets."""
        ...


class TransactionalSink:
    """The exactly-once Sink. Micro-batches share a transaction, bounded by `transaction.*`.

    A receipt is done when its transaction was committed, or failed when it was aborted. Never does one
    succeed behind one that failed: what waits behind fails, too, so the loop repeats all in order. Every
    method belongs to the loop's thread. `step`, `strike`, `settle` and `close` block for a call to the
    coordinator. A producer that was fenced raises Fatal.
    """

    def __init__(
        self,
        settings: Settings,
        outgoings: Outgoings,
        member: Member,
        logger: Any = None,
        observer: Observer | None = None,
    ) -> None:
        self._policy = settings.transaction
        self._call = min(_CALL, settings.transaction.timeout / 3)
        self._outgoings = outgoings
        self._member = member
        config = transactional_config(settings, transactional_id(settings))
        self._observer = observer or Observer()
        self._outlet = Outlet(config, settings, _broken, logger, observer)
        self._oversize = Oversize()
        self._inside: list[TransactionReceipt] = []  # in the open transaction
        self._waiting: deque[TransactionReceipt] = deque()  # for the next one
        self._began_at: float | None = None
        self._ending: Literal["commit", "abort"] | None = None
        self._offsets_sent = False
        self._outdated = False  # what waits has to fail, once it is known what became of the open one
        self._why: str | None = None  # the open transaction cannot be committed
        self._message_failed = False
        if refusal := self._start():
            raise Misconfigured([_refused(refusal)])

    # ---------------------------------------------------------------- Sink

    def send(
        self, outputs: Sequence[Output], next_offsets: Mapping[TopicPartition, int]
    ) -> TransactionReceipt:
        self._outlet.require_alive()
        self._outlet.refresh(self._outgoings)
        outputs = self._oversize.replaced(outputs)
        receipt = TransactionReceipt(self, outputs, self._outgoings.of_all(outputs), dict(next_offsets))
        self._waiting.append(receipt)
        self._fill()
        return receipt

    def step(self, now: float) -> None:
        self._outlet.serve(0.0)
        if self._why is not None and self._ending is None:
            self._ending = "abort"
        if self._ending == "abort":
            self._try_abort()
        elif self._inside and (self._ending == "commit" or self._is_due(now)):
            self._try_commit()
        self._fill()

    def strike(self, partitions: Collection[TopicPartition]) -> None:
        if not self._offsets_sent and _any_holds(self._inside, partitions):
            self._abort(_NOT_OURS)
        elif _any_holds(self._waiting, partitions):
            self._outdated = True

    def settle(self, deadline: float) -> None:
        while (self._inside or self._waiting) and (now := time.monotonic()) < deadline:
            if self._inside and self._ending is None:
                self._ending = "commit"
            self.step(now)
            if self._outlet.holds_back or self._ending is not None:
                self._outlet.serve(_NAP)

    def close(self, deadline: float) -> None:
        """Abort what is open; whatever could be committed is committed by now."""
        try:
            if self._began_at is not None:
                self._outlet.producer.abort_transaction(max(0.1, deadline - time.monotonic()))
        except (KafkaException, SystemError):
            return  # the brokers abort it after transaction.timeout

    # ---------------------------------------------------------------- used by receipts

    def wait(self, receipt: TransactionReceipt, deadline: float) -> None:
        """Work until it is done or `deadline`."""
        while not receipt.done() and (left := deadline - time.monotonic()) > 0:
            self._outlet.serve(min(left, _NAP))
            self.step(time.monotonic())

    def note(self, error: KafkaError, receipt: TransactionReceipt, value: bytes | None) -> None:
        """Called inside client calls: only takes notes. One message that fails fails the transaction."""
        if error.code() in _CONSEQUENCES:
            return
        self._outlet.note_failure(error)
        self._message_failed = True
        self._why = self._why or f"{error.name()}: {error.str()}"
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            self._oversize.refused(receipt.outputs_of(value))

    # ---------------------------------------------------------------- the open transaction

    def _start(self) -> KafkaError | None:
        """Finish or abort what a former owner of our transactional id left open; blocks. Returns why the
        brokers refuse; raises Fatal when the coordinator does not answer."""
        deadline = time.monotonic() + _START
        while True:
            try:
                self._outlet.producer.init_transactions(self._call)
            except KafkaException as error:
                reason: KafkaError = error.args[0]
            else:
                return None
            if reason.fatal() or not reason.retriable():
                return reason
            if time.monotonic() >= deadline:
                raise Fatal(f"The transaction coordinator does not answer ({reason.str()}).")

    def _is_due(self, now: float) -> bool:
        full = sum(len(receipt) for receipt in self._inside) >= self._policy.max_records
        large = sum(receipt.size for receipt in self._inside) >= self._policy.max_bytes
        return full or large or (self._began_at is not None and now - self._began_at >= self._policy.max_time)

    def _fill(self) -> None:
        """Put waiting batches into the open transaction, or into a new one."""
        while self._waiting and self._ending is None and self._why is None:
            if self._began_at is None:
                self._outlet.producer.begin_transaction()
                self._began_at = time.monotonic()
            receipt = self._waiting.popleft()
            self._inside.append(receipt)
            self._hand_over(receipt)

    def _hand_over(self, receipt: TransactionReceipt) -> None:
        """A suspect travels alone, so that it is known whether the broker refuses it or its neighbours."""
        for alone, messages in self._oversize.groups(receipt.outputs, receipt.messages):
            if alone:
                self._outlet.flush(self._call)
            self._outlet.put(messages, receipt)
            if alone:
                self._outlet.flush(self._call)

    def _try_commit(self) -> None:
        """Send the offsets and commit. What times out is called again in a later step."""
        self._ending = "commit"
        if self._outlet.holds_back:
            return
        try:
            if not self._offsets_sent:
                self._send_offsets()
                self._offsets_sent = True
            self._outlet.producer.commit_transaction(self._call)
        except KafkaException as error:
            self._judge(error.args[0])
            return
        for receipt in self._inside:
            receipt.end(None)
        self._oversize.clear()
        if self._outdated:
            self._fail(self._waiting, _NOT_OURS)
        self._ended()

    def _send_offsets(self) -> None:
        """The client forgets its time limit when the group's coordinator goes away meanwhile (librdkafka
        2.16): whoever watches ends the process then, as with every call that may not return."""
        last: dict[TopicPartition, int] = {}
        for receipt in self._inside:
            last.update(receipt.offsets())
        positions, who = self._member.positions(last), self._member.group_metadata()
        self._observer.entered_call("send_offsets_to_transaction", time.monotonic())
        try:
            self._outlet.producer.send_offsets_to_transaction(positions, who, self._call)
        finally:
            self._observer.left_call(time.monotonic())

    def _judge(self, error: KafkaError) -> None:
        """A call of the open transaction failed: abort, the end, or the same call again later."""
        if error.txn_requires_abort():
            self._abort(f"{error.name()}: {error.str()}")
        elif error.fatal() or not error.retriable():
            self._outlet.die(str(error))

    def _abort(self, why: str) -> None:
        self._ending = "abort"
        self._outlet.discard()
        self._outlet.serve(0.0)  # the reports of messages name the cause, where they are the cause
        self._why = self._why or why
        self._try_abort()

    def _try_abort(self) -> None:
        """What times out is called again in a later step."""
        self._outlet.discard()
        try:
            self._outlet.producer.abort_transaction(self._call)
        except KafkaException as error:
            reason: KafkaError = error.args[0]
            if reason.fatal() or not reason.retriable():
                self._outlet.die(f"{reason}, when it had to be aborted because of {self._why}")
            return
        why = self._oversize.judged() or self._why or "aborted"
        self._fail(self._inside, why)
        self._fail(self._waiting, why)
        self._ended()
        if self._message_failed:
            self._renew()

    def _renew(self) -> None:
        """After a message failed, the client believes in a gap in its sequence numbers: the brokers would
        refuse its next transaction, and for seconds nothing would be known of that."""
        self._message_failed = False
        self._outlet.renew()
        if refusal := self._start():
            self._outlet.die(str(refusal))

    def _fail(self, receipts: list[TransactionReceipt] | deque[TransactionReceipt], why: str) -> None:
        for receipt in receipts:
            receipt.end(Infrastructure(f"The transaction was aborted: {why}"))
        receipts.clear()

    def _ended(self) -> None:
        self._inside = []
        self._began_at = self._ending = self._why = None
        self._offsets_sent = self._outdated = False


def transactional_id(settings: Settings) -> str:
    """Unique among live processes, which is all that is needed where each transaction names the group's
    generation (KIP-447). With static membership it is also the same after a restart, so the successor
    ends a dead owner's transaction at once instead of after `transaction.timeout`."""
    kafka = settings.kafka
    slot = kafka.group_instance_id or f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
    return f"{kafka.group_id}-{kafka.client_id}-{slot}"


def _any_holds(receipts: Iterable[TransactionReceipt], partitions: Collection[TopicPartition]) -> bool:
    return any(tp in receipt.offsets() for receipt in receipts for tp in partitions)


def _broken(why: str) -> str:
    return (
        f"The transactional producer is broken for good ({why}); its transaction was not committed. Usual "
        "causes: another live process has the same transactional id (give every replica its own "
        "kafka.group_instance_id), or a transaction outlasted transaction.timeout."
    )


def _refused(reason: KafkaError) -> str:
    return (
        f"processing.guarantee = 'exactly-once': the brokers refuse transactions ({reason.name()}: "
        f"{reason.str()}); it needs WRITE and DESCRIBE on the transactional ids that begin with the group's "
        "name, and transaction.timeout below the brokers' transaction.max.timeout.ms"
    )
