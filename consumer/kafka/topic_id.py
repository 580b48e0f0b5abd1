"""The id that the brokers gave the input topic."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection, Uuid

from consumer.kafka.brokers import admin_client
from consumer.settings import Settings

_ASK_AGAIN = 30.0  # seconds: a topic that was created again may not show in the group
_RETRY = 5.0  # the same after a question that failed
_REQUEST_TIMEOUT = 10.0
_NO_ID = str(Uuid(0, 0))  # of brokers that give none
_GONE = frozenset((KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.UNKNOWN_TOPIC_ID))
_log = logging.getLogger(__name__)

Ask = Callable[[], "Future[Any]"]


class KafkaTopicId:
    """Asked in the background, after every `renew` and now and then; the last answer holds until the next
    one. One thread calls."""

    def __init__(
        self, topic: str, ask: Ask, patience: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`ask` starts a question and returns at once; it may raise KafkaException. `patience`: seconds to
        wait after a `renew`."""
        self._topic, self._ask, self._patience, self._clock = topic, ask, patience, clock
        self._id: str | None = None
        self._last: str | None = None  # also what a `renew` made uncertain
        self._told = False
        self._question: Future[Any] | None = None
        self._wait = self._ask_at = 0.0
        self.renew()

    def renew(self) -> None:
        self._id = None
        self._wait = self._patience
        self._start()

    def known(self) -> str | None:
        if self._question is None and self._clock() >= self._ask_at:
            self._start()
        if self._question is not None and (self._wait or self._question.done()):
            self._take(self._question)
        return self._id

    def _start(self) -> None:
        self._ask_at = self._clock() + _ASK_AGAIN
        try:
            self._question = self._ask()
        except KafkaException as error:
            self._failed(error.args[0])

    def _take(self, question: Future[Any]) -> None:
        wait, self._wait = self._wait, 0.0
        try:
            answer = str(question.result(wait).topic_id)
        except TimeoutError:
            return
        except KafkaException as error:
            self._failed(error.args[0])
            return
        self._question = None
        self._id = None if answer == _NO_ID else answer
        if self._id is None:
            self._tell_unknown("they give it none")
        elif self._last not in (None, self._id):
            text = "the input topic was deleted and created again; no event of it is a repeat of an old one"
            _log.warning(text, extra={"action": "topic_recreated", "topic": self._topic})
        self._last = self._id or self._last

    def _failed(self, error: KafkaError) -> None:
        self._question = None
        self._ask_at = self._clock() + _RETRY
        if error.code() in _GONE:
            self._id = None
        if self._id is None:
            self._tell_unknown(f"{error.name()}: {error.str()}")

    def _tell_unknown(self, why: str) -> None:
        """Once; it goes on until they tell."""
        if not self._told:
            text = (
                "the brokers do not tell the id of the input topic; meanwhile repeats of an event are scored"
            )
            _log.warning(text, extra={"action": "no_topic_id", "topic": self._topic, "why": why})
        self._told = True


def ask_topic_id(settings: Settings, patience: float) -> KafkaTopicId:
    """With a client of its own. Does not wait for the brokers."""
    admin = admin_client(settings, settings.kafka.bootstrap_servers)
    topic = settings.input.topic

    def ask() -> Future[Any]:
        described = admin.describe_topics(TopicCollection([topic]), request_timeout=_REQUEST_TIMEOUT)
        return described[topic]

    return KafkaTopicId(topic, ask, patience)
