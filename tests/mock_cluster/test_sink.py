"""What the client really does when it writes, and what our sink makes of it.

| the client | test |
|---|---|
| delivery reports run only inside poll and flush | a_receipt_is_done_when… |
| a full queue raises BufferError | a_queue_that_is_too_small… |
| a timed-out message is unknown, not lost: it may be in the log | what_is_not_acknowledged_in_time… |
| a broker's "too large" fails every message of the request | a_request_found_too_large… |
| a refused topic makes the next produce() raise at once | a_refused_topic_fails_the_batch… |
| a fatal error is raised once, then the producer looks healthy | a_dead_producer_stays_dead |
| idempotent retries keep the order | retries_keep_the_order |
| close waits for message.timeout.ms | closing_ends_by_its_deadline… |
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from consumer.demo.cluster import InProcessCluster
from consumer.errors import Fatal
from consumer.kafka.messages import Outgoings
from consumer.kafka.sink import KafkaSink
from consumer.ports import ModelInfo, Receipt
from consumer.records import Entry, Event, Output, Reason, Record, Rejection, Score, TopicPartition
from consumer.settings import Settings
from tests.mock_cluster.conftest import QUIET, changed

PRODUCE = 0
P0 = TopicPartition("events", 0)
TOPICS = {"anomaly-scores": 2, "anomaly-dead-letters": 2}
SOON = 30.0


def sink_of(settings: Settings) -> KafkaSink:
    return KafkaSink(settings, Outgoings(settings, ModelInfo("m", "0" * 16), TOPICS), QUIET)


@pytest.fixture
def sink(settings: Settings) -> Iterator[KafkaSink]:
    made = sink_of(settings)
    yield made
    made.close(time.monotonic() + SOON)


def scored(offset: int, message: str = "hello", key: bytes | None = None) -> Output:
    record = Record("events", 0, offset, message.encode(), key)
    return Output(Entry(record, Event(message)), Score(1.0, is_anomaly=False, threshold=2.0))


def batch(count: int) -> list[Output]:
    return [scored(offset) for offset in range(count)]


def read(cluster: InProcessCluster, topic: str = "anomaly-scores") -> dict[int, list[dict[str, object]]]:
    """Everything in the topic, per partition, in order."""
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap, "group.id": "reader", "enable.partition.eof": True}
    )
    consumer.assign([KafkaPartition(topic, p, 0) for p in range(2)])
    found: dict[int, list[dict[str, object]]] = {0: [], 1: []}
    ends = 0
    while ends < 2:
        for message in consumer.consume(1000, 1.0):
            if message.error():
                ends += 1
            else:
                found[message.partition()].append(_content(message))
    consumer.close()
    return found


def _content(message: object) -> dict[str, object]:
    if message.topic() == "anomaly-scores":
        return json.loads(message.value())
    return {"value": message.value(), **dict(message.headers())}


def offsets(results: list[dict[str, object]]) -> list[int]:
    return [r["input"]["offset"] for r in results]


def test_a_receipt_is_done_when_every_result_is_acknowledged(
    cluster: InProcessCluster, sink: KafkaSink
) -> None:
    receipt = sink.send(batch(500), {P0: 500})
    assert receipt.wait(time.monotonic() + SOON)
    assert receipt.failure() is None
    assert receipt.offsets() == {P0: 500}
    assert len(read(cluster)[0]) == 500


def test_results_without_a_key_stay_in_order_in_one_partition(
    cluster: InProcessCluster, sink: KafkaSink
) -> None:
    sink.send(batch(300), {P0: 300}).wait(time.monotonic() + SOON)
    assert offsets(read(cluster)[0]) == list(range(300))


def test_a_queue_that_is_too_small_is_back_pressure_and_loses_nothing(
    cluster: InProcessCluster, settings: Settings
) -> None:
    tiny = sink_of(changed(settings, "kafka", producer={"queue.buffering.max.messages": "10"}))
    first, second = (
        tiny.send(batch(200), {P0: 200}),
        tiny.send([scored(o) for o in range(200, 300)], {P0: 300}),
    )
    assert not second.done()
    assert first.wait(time.monotonic() + SOON)
    assert second.wait(time.monotonic() + SOON)
    assert offsets(read(cluster)[0]) == list(range(300))
    tiny.close(time.monotonic() + SOON)


def test_retries_keep_the_order(cluster: InProcessCluster, sink: KafkaSink) -> None:
    retried = [
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.NOT_ENOUGH_REPLICAS,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.KAFKA_STORAGE_ERROR,
    ]
    cluster.push_request_errors(PRODUCE, retried)
    receipts = [sink.send([scored(o) for o in range(n, n + 50)], {P0: n + 50}) for n in range(0, 200, 50)]
    assert all(r.wait(time.monotonic() + SOON) and r.failure() is None for r in receipts)
    assert offsets(read(cluster)[0]) == list(range(200))


def test_what_is_not_acknowledged_in_time_is_unknown_and_fails_the_batch(
    cluster: InProcessCluster, settings: Settings
) -> None:
    short = sink_of(changed(settings, "delivery", timeout=1.5))
    short.send([scored(0)], {P0: 1}).wait(time.monotonic() + SOON)
    cluster.set_rtt(4000)
    receipt = short.send([scored(1)], {P0: 2})
    assert receipt.wait(time.monotonic() + SOON)
    assert "_MSG_TIMED_OUT" in str(receipt.failure())
    cluster.set_rtt(0)
    repeat = short.send([scored(1)], {P0: 2})
    assert repeat.wait(time.monotonic() + SOON)
    assert repeat.failure() is None
    assert sorted(set(offsets(read(cluster)[0]))) == [0, 1]
    short.close(time.monotonic() + SOON)


def test_a_request_found_too_large_is_sent_again_one_by_one(
    cluster: InProcessCluster, sink: KafkaSink
) -> None:
    cluster.push_request_errors(PRODUCE, [KafkaError.MSG_SIZE_TOO_LARGE])
    receipt = sink.send(batch(5), {P0: 5})
    assert receipt.wait(time.monotonic() + SOON)
    assert receipt.failure() is None
    assert sorted(offsets(read(cluster)[0])) == [0, 1, 2, 3, 4]


def test_the_one_that_is_refused_alone_becomes_a_dead_letter(
    cluster: InProcessCluster, sink: KafkaSink
) -> None:
    together, alone = KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.MSG_SIZE_TOO_LARGE
    cluster.push_request_errors(PRODUCE, [together, KafkaError.NO_ERROR, alone])
    receipt = sink.send(batch(3), {P0: 3})
    assert receipt.wait(time.monotonic() + SOON)
    assert receipt.failure() is None
    assert sorted(offsets(read(cluster)[0])) == [0, 2]
    (letter,) = read(cluster, "anomaly-dead-letters")[0]
    assert letter["consumer.reason"] == b"unpublishable"
    assert letter["consumer.result.id"] == b"events|0|1"


def test_a_result_that_the_client_itself_refuses_becomes_a_dead_letter_too(
    cluster: InProcessCluster, sink: KafkaSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The encoders keep below the client's limit; a producer with a lower one stands in."""
    monkeypatch.setattr(sink.outlet, "producer", _Narrow(sink.outlet.producer))
    receipt = sink.send(batch(3), {P0: 3})
    assert receipt.wait(time.monotonic() + SOON)
    assert receipt.failure() is None
    assert sorted(offsets(read(cluster)[0])) == [0, 2]
    (letter,) = read(cluster, "anomaly-dead-letters")[0]
    assert letter["consumer.result.id"] == b"events|0|1"


class _Narrow:
    """A producer that finds the result of offset 1 too large, before it queues it."""

    def __init__(self, producer: object) -> None:
        self._producer = producer

    def produce(self, topic: str, value: bytes, *rest: object, **options: object) -> None:
        if topic == "anomaly-scores" and b"events|0|1" in value:
            raise KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
        self._producer.produce(topic, value, *rest, **options)

    def __getattr__(self, name: str) -> object:
        return getattr(self._producer, name)


def test_a_refused_topic_fails_the_batch_and_the_producer_goes_on(
    cluster: InProcessCluster, sink: KafkaSink
) -> None:
    cluster.push_request_errors(PRODUCE, [KafkaError.TOPIC_AUTHORIZATION_FAILED])
    receipt = sink.send(batch(3), {P0: 3})
    assert receipt.wait(time.monotonic() + SOON)
    assert "TOPIC_AUTHORIZATION_FAILED" in str(receipt.failure())
    deadline = time.monotonic() + SOON
    while True:
        again = sink.send(batch(3), {P0: 3})
        assert again.wait(time.monotonic() + SOON)
        if again.failure() is None:
            break
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert set(offsets(read(cluster)[0])) == {0, 1, 2}


def serve_until_it_dies(sink: KafkaSink, receipt: Receipt) -> None:
    while receipt.wait(time.monotonic() + SOON):
        assert receipt.failure() is not None
        sink.step(0.0)


def test_a_dead_producer_stays_dead(cluster: InProcessCluster, sink: KafkaSink) -> None:
    sink.send(batch(1), {P0: 1}).wait(time.monotonic() + SOON)
    cluster.push_request_errors(PRODUCE, [KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER] * 3)
    receipt = sink.send(batch(3), {P0: 3})
    with pytest.raises(Fatal, match="broken for good"):
        serve_until_it_dies(sink, receipt)
    for _ in range(3):
        with pytest.raises(Fatal, match="broken for good"):
            sink.step(0.0)
    with pytest.raises(Fatal, match="broken for good"):
        sink.send(batch(1), {P0: 1}).wait(time.monotonic() + SOON)


def test_a_rejection_goes_to_the_dead_letter_topic_with_its_bytes(
    cluster: InProcessCluster, sink: KafkaSink
) -> None:
    record = Record("events", 0, 7, b"\xff{", b"\x00key", headers=(("trace", b"1"),))
    rejection = Rejection(Reason.UNDECODABLE, "byte 0")
    sink.send([Output(Entry(record, rejection), rejection)], {P0: 8}).wait(time.monotonic() + SOON)
    letters = [letter for found in read(cluster, "anomaly-dead-letters").values() for letter in found]
    assert letters[0]["value"] == b"\xff{"
    assert letters[0]["trace"] == b"1"
    assert letters[0]["__connect.errors.offset"] == b"7"


def test_closing_ends_by_its_deadline_although_the_brokers_are_gone(
    cluster: InProcessCluster, settings: Settings
) -> None:
    sink = sink_of(settings)
    sink.send(batch(1), {P0: 1}).wait(time.monotonic() + SOON)
    cluster.broker_down()
    receipt = sink.send(batch(10), {P0: 10})
    before = time.monotonic()
    sink.close(before + 1.0)
    assert time.monotonic() - before < settings.delivery.timeout / 2
    assert not receipt.offsets() or receipt.failure() is not None or not receipt.settled()
