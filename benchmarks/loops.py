"""`python -m benchmarks.loops bare|naive JOB`: loops by hand on the same client, without our pipeline.

bare: consume 2,000, produce the same bytes, flush, commit. naive: poll one, decode, normalise, score with
the same language model, produce, flush, commit. Both check every delivery.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer

from benchmarks.jobs import Job, Stopwatch, answer, job_of_this_process
from consumer.normalize import Normalizer
from consumer.settings import Scoring

_AT_ONCE = 2_000
_WAIT = 0.2

Score = Callable[[str], float]


class _Event(msgspec.Struct):
    message: str


class Clients:
    """A consumer and a producer with their libraries' defaults but for what delivery needs."""

    def __init__(self, job: Job) -> None:
        self._output = job.output
        self._failed: list[KafkaError] = []
        common = {"bootstrap.servers": job.bootstrap}
        self.consumer = Consumer(
            common
            | {
                "group.id": job.group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "partition.assignment.strategy": "cooperative-sticky",
            }
        )
        self._producer = Producer(common | {"enable.idempotence": True, "linger.ms": 5})
        self.consumer.subscribe([job.topic])

    def produce(self, key: bytes | None, value: bytes | None) -> None:
        while True:
            try:
                self._producer.produce(self._output, key=key, value=value, on_delivery=self._delivered)
            except BufferError:
                self._producer.poll(0.05)
            else:
                return

    def finish(self, messages: Sequence[Message]) -> None:
        """Flush, then commit the offsets after these. Raises when anything was not acknowledged."""
        if self._producer.flush(60) or self._failed:
            raise RuntimeError(f"not acknowledged: {self._failed[:3]}")
        last = {message.partition(): message for message in messages}
        for message in last.values():
            self.consumer.store_offsets(message=message)
        self.consumer.commit(asynchronous=False)

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._failed.append(error)


def bare(job: Job, watch: Stopwatch) -> None:
    clients, done = Clients(job), 0
    while done < job.records:
        messages = _checked(clients.consumer.consume(_AT_ONCE, _WAIT))
        if not messages:
            continue
        if not watch.running:
            watch.start()
        for message in messages:
            clients.produce(message.key(), message.value())
        clients.finish(messages)
        done += len(messages)
    watch.stop()
    clients.consumer.close()


def naive(job: Job, watch: Stopwatch) -> None:
    score = language_model()
    clients, done = Clients(job), 0
    decoder = msgspec.json.Decoder(_Event)
    while done < job.records:
        message = clients.consumer.poll(_WAIT)
        if message is None:
            continue
        _checked([message])
        if not watch.running:
            watch.start()
        text = decoder.decode(message.value() or b"").message
        result = {"message": text, "score": score(text)}
        clients.produce(message.key(), msgspec.json.encode(result))
        clients.finish([message])
        done += 1
    watch.stop()
    clients.consumer.close()


def language_model() -> Score:
    """Mean surprisal of a text's tokens under the model that the service scores with, and nothing else."""
    from consumer.scoring.stored import load_stored  # noqa: PLC0415 - the bare loop needs no torch

    part = load_stored(Scoring(model="demo")).language_model
    part.warm_up()
    normalizer = Normalizer()

    def score(text: str) -> float:
        prepared = part.prepare([normalizer.model_input(None, text)])
        return float(part.summarise(part.compute(prepared)).values[0, 0])

    return score


def _checked(messages: Sequence[Message]) -> Sequence[Message]:
    for message in messages:
        if message.error() is not None:
            raise KafkaException(message.error())
    return messages


LOOPS = {"bare": bare, "naive": naive}


def main() -> None:
    job, watch = job_of_this_process(), Stopwatch()
    LOOPS[sys.argv[1]](job, watch)
    answer(job, watch.measured(job.records))


if __name__ == "__main__":
    main()
