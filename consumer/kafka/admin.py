"""Looks at brokers and topics before the work begins. Never creates anything.

Existence is asked with a metadata request for *all* topics: one that names a missing topic would
create it on brokers with auto.create.topics.enable.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from consumer.kafka.brokers import admin_client, advertised, ask_all
from consumer.kafka.config import refused_configuration
from consumer.kafka.group import look_at_group
from consumer.kafka.refusals import explained
from consumer.kafka.topics import look_at_topics
from consumer.settings import Settings


class Report(msgspec.Struct, frozen=True):
    """What was found, one line each.

    `problems`: the service cannot work like this. `unreachable`: addresses that do not answer while
    another one does; a check calls that an error, a start in the middle of a rolling restart must not.
    `warnings`: it works, but not as one would want. `notes`: what was seen, and what could not be.
    `partitions`: number of partitions of each of our topics that exists.
    """

    problems: tuple[str, ...] = ()
    unreachable: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    partitions: Mapping[str, int] = {}


def inspect(settings: Settings, timeout: float = 5.0) -> Report:
    """Look at the clients' configuration, at every bootstrap address, at our three topics and our group.

    Blocks for up to 6 times `timeout` seconds. Raises Misconfigured when the client refuses to connect
    like this at all. Shows no secret.
    """
    refused = refused_configuration(settings)
    answers = ask_all(settings, timeout)
    silent = [explained(answer, settings.kafka, timeout) for answer in answers if answer.metadata is None]
    good = next((answer for answer in answers if answer.metadata is not None), None)
    if good is None:
        return Report(problems=(*refused, *silent), notes=("topics: not checked, since no broker answers",))
    client = admin_client(settings, good.address)
    topics = look_at_topics(settings, good, client, timeout)
    group = look_at_group(settings, timeout)
    brokers = f"brokers: {len(good.metadata.brokers)} in cluster {good.metadata.cluster_id}"
    return Report(
        problems=(*refused, *topics.problems, *group.problems),
        unreachable=(*silent, *advertised(good, timeout)),
        warnings=tuple(topics.warnings),
        notes=(brokers, *topics.notes, *group.notes),
        partitions=topics.partitions,
    )
