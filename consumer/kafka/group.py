"""Whether we may be a member of our group."""

from __future__ import annotations

from typing import NamedTuple

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AclOperation, AdminClient

from consumer.masking import shown
from consumer.settings import Settings


class GroupFindings(NamedTuple):
    """Lines about the group, as in admin.Report."""

    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def look_at_group(settings: Settings, admin: AdminClient, timeout: float) -> GroupFindings:
    """Ask the group's coordinator what we may do with it. Blocks for up to `timeout` seconds.

    Without the permission a member would ask to join for ever, and nothing would come.
    """
    group = settings.kafka.group_id
    futures = admin.describe_consumer_groups(
        [group], include_authorized_operations=True, request_timeout=timeout
    )
    try:
        allowed = {*(futures[group].result().authorized_operations or ())}
    except KafkaException as error:
        reason: KafkaError = error.args[0]
        if reason.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
            return GroupFindings(problems=(_may_not(settings),))
        return GroupFindings(notes=(f"{_name(group)}: permission was not checked: {reason.str()}",))
    if allowed and allowed.isdisjoint({AclOperation.READ, AclOperation.ALL}):
        return GroupFindings(problems=(_may_not(settings),))
    return GroupFindings()


def _name(group: str) -> str:
    return f"kafka.group_id = {shown(group)}"


def _may_not(settings: Settings) -> str:
    who = settings.kafka.sasl_username or "this client"
    command = f"kafka-acls.sh --add --operation READ --group {settings.kafka.group_id}"
    return (
        f"{_name(settings.kafka.group_id)}: {who} may not read it; "
        f"allow it: {command} --allow-principal User:…"
    )
