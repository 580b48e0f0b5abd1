"""The input topic's id, asked in the background."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from typing import NamedTuple

import pytest
from confluent_kafka import KafkaError, KafkaException, Uuid

from consumer.kafka.topic_id import KafkaTopicId


class Described(NamedTuple):
    topic_id: Uuid


class World:
    """Each question gets the next future of `answers`; without one it is never answered."""

    def __init__(self, *answers: object) -> None:
        self.now, self.questions = 0.0, 0
        self.answers = deque(answers)
        self.topic_id = KafkaTopicId("events", self._ask, patience=0.001, clock=lambda: self.now)

    def _ask(self) -> Future[object]:
        self.questions += 1
        future: Future[object] = Future()
        answer = self.answers.popleft() if self.answers else None
        if isinstance(answer, Exception):
            future.set_exception(answer)
        elif answer is not None:
            future.set_result(answer)
        return future


def topic(number: int) -> Described:
    return Described(Uuid(0, number))


def error(code: int) -> KafkaException:
    return KafkaException(KafkaError(code))


def test_it_is_asked_at_once_and_remembered() -> None:
    world = World(topic(7))
    assert world.topic_id.known() == str(Uuid(0, 7))
    assert world.topic_id.known() == str(Uuid(0, 7))
    assert world.questions == 1


def test_it_is_unknown_while_nobody_answers_and_waited_for_once() -> None:
    world = World()
    assert world.topic_id.known() is None
    assert world.topic_id.known() is None
    assert world.questions == 1


def test_after_a_renewal_only_the_new_answer_counts() -> None:
    world = World(topic(7))
    assert world.topic_id.known() == str(Uuid(0, 7))
    world.topic_id.renew()
    assert world.topic_id.known() is None
    world.answers.append(topic(8))
    world.topic_id.renew()
    assert world.topic_id.known() == str(Uuid(0, 8))


def test_a_topic_created_again_is_noticed_without_a_renewal_and_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World(topic(7), topic(8))
    world.topic_id.known()
    world.now = 31.0
    assert world.topic_id.known() == str(Uuid(0, 8))
    assert [record.action for record in caplog.records] == ["topic_recreated"]  # type: ignore[attr-defined]


def test_a_failure_keeps_what_is_known_unless_the_topic_is_gone() -> None:
    world = World(topic(7), error(KafkaError._TIMED_OUT), error(KafkaError.UNKNOWN_TOPIC_OR_PART), topic(8))
    known = [world.topic_id.known()]
    for now in (31.0, 37.0, 43.0):
        world.now = now
        known.append(world.topic_id.known())
    assert known == [str(Uuid(0, 7)), str(Uuid(0, 7)), None, str(Uuid(0, 8))]


def test_a_failure_is_told_once_and_asked_again_soon(caplog: pytest.LogCaptureFixture) -> None:
    world = World(*[error(KafkaError._TIMED_OUT)] * 3, topic(7))
    known = []
    for now in (0.0, 4.0, 6.0, 12.0, 18.0):
        world.now = now
        known.append(world.topic_id.known())
    assert known == [None] * 4 + [str(Uuid(0, 7))]
    assert world.questions == 4
    assert [record.action for record in caplog.records] == ["no_topic_id"]  # type: ignore[attr-defined]


def test_a_question_that_cannot_even_be_asked_is_no_more_than_a_failure() -> None:
    world = World(topic(7))
    world.topic_id.known()

    def refuse() -> Future[object]:
        raise error(KafkaError._STATE)

    world.topic_id._ask = refuse
    world.topic_id.renew()
    assert world.topic_id.known() is None


def test_brokers_that_give_topics_no_id_are_told_of(caplog: pytest.LogCaptureFixture) -> None:
    world = World(topic(0))
    assert world.topic_id.known() is None
    assert [record.action for record in caplog.records] == ["no_topic_id"]  # type: ignore[attr-defined]
