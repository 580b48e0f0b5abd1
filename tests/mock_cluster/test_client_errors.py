"""Which of the client's errors end the process, and what it says then."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from consumer.kafka.client_errors import broken_for_good


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KafkaError(KafkaError.FENCED_INSTANCE_ID, "fenced"), "give every replica its own"),
        (KafkaError(KafkaError.UNRELEASED_INSTANCE_ID, "taken"), "give every replica its own"),
        (
            KafkaError(KafkaError._FATAL, "fenced by the same group.instance.id"),
            "every replica its own",
        ),
        (
            KafkaError(KafkaError._FATAL, "The instance ID is still used by another member"),
            "every replica its own",
        ),
        (KafkaError(KafkaError._FATAL, "The group id does not exist"), "another kafka.assignor"),
        (KafkaError(KafkaError.UNKNOWN, "with the flag", True), "broken for good"),
    ],
    ids=lambda value: value.name() if isinstance(value, KafkaError) else "",
)
def test_an_error_that_the_client_does_not_survive_is_told_with_what_to_do(
    error: KafkaError, said: str
) -> None:
    assert said in (broken_for_good(error, f"{error.name()}: {error.str()}") or "")


@pytest.mark.parametrize(
    "code", [KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT, KafkaError.UNKNOWN_TOPIC_OR_PART]
)
def test_what_the_client_retries_by_itself_is_not(code: int) -> None:
    assert broken_for_good(KafkaError(code), "") is None
