"""Which of the consumer client's errors are the end of it."""

from __future__ import annotations

from confluent_kafka import KafkaError

_NOT_ALONE = frozenset((KafkaError.FENCED_INSTANCE_ID, KafkaError.UNRELEASED_INSTANCE_ID))

_NAMED = ("group.instance.id", "instance ID is still used")  # where the code is that of any fatal error


def broken_for_good(error: KafkaError, text: str) -> str | None:
    """Why this client will never work again, with what to do; None when it goes on by itself."""
    code = error.code()
    fatal = error.fatal() or code == KafkaError._FATAL  # a callback gets the code without the flag
    if code in _NOT_ALONE or (fatal and any(words in text for words in _NAMED)):
        return (
            f"Another live member has our kafka.group_instance_id ({text}): give every replica its own, "
            "or wait until the former owner is gone."
        )
    if fatal:
        return (
            f"The Kafka consumer is broken for good ({text}). If it says that the group id does not exist, "
            "the group has members with another kafka.assignor: docs/upgrading.md."
        )
    return None
