"""Whether we may be a member of our group."""

from __future__ import annotations

import shlex
import time
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from consumer.kafka.config import connection, make_client, quiet_logger
from consumer.masking import shown
from consumer.settings import Settings

_ONE_TRY = 0.5  # seconds
_REFUSED = KafkaError.GROUP_AUTHORIZATION_FAILED


class GroupFindings(NamedTuple):
    """Lines about the group, as in admin.Report."""

    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def look_at_group(settings: Settings, timeout: float) -> GroupFindings:
    """Ask the group's coordinator for a committed offset, as a member does. Blocks for up to `timeout`
    seconds.

    Without the permission a member would ask to join for ever, and nothing would come. An admin client
    could ask for the permission itself, but that question ends the process when a connection breaks at
    the wrong moment (librdkafka 2.16: an assertion), which is what a start among failing brokers meets.
    """
    reason = _refusal(settings, timeout)
    if reason is None:
        return GroupFindings()
    if reason.code() == _REFUSED:
        return GroupFindings(problems=(_may_not(settings),))
    name = _name(settings.kafka.group_id)
    return GroupFindings(notes=(f"{name}: permission was not checked: {reason.str()}",))


def _refusal(settings: Settings, timeout: float) -> KafkaError | None:
    """Why the group does not answer. A refused search for its coordinator is told to whoever polls, while the
    question itself goes on being asked."""
    logger, _ = quiet_logger()
    config = connection(settings.kafka) | {"group.id": settings.kafka.group_id}
    asker: Consumer = make_client(Consumer, config, settings, logger=logger)
    deadline = time.monotonic() + timeout
    try:
        while (reason := _asked(asker, settings)) is not None and reason.code() == KafkaError._TIMED_OUT:
            told = asker.poll(0)
            if told is not None and (error := told.error()) and error.code() == _REFUSED:
                return error
            if time.monotonic() > deadline:
                break
        return reason
    finally:
        asker.close()


def _asked(asker: Consumer, settings: Settings) -> KafkaError | None:
    try:
        (answer,) = asker.committed([TopicPartition(settings.input.topic, 0)], timeout=_ONE_TRY)
    except KafkaException as error:
        refused: KafkaError = error.args[0]
        return refused
    return answer.error


def _name(group: str) -> str:
    return f"kafka.group_id = {shown(group)}"


def _may_not(settings: Settings) -> str:
    who = settings.kafka.sasl_username or "this client"
    command = f"kafka-acls.sh --add --operation READ --group {shlex.quote(settings.kafka.group_id)}"
    return (
        f"{_name(settings.kafka.group_id)}: {who} may not read it; "
        f"allow it: {command} --allow-principal User:…"
    )
