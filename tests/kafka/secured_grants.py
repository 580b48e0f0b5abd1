"""The access control list of docs/security.md, as the brokers take it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AclOperation, ResourcePatternType, ResourceType

from tests.kafka.scenario import Scenario
from tests.kafka.secured import Grant, User

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
_ROW = re.compile(
    r"^\| (either guarantee|exactly-once) \| (\w+) \| `(.*)` \| (literal|prefixed) \| (\w+) \|$", re.MULTILINE
)
_RESOURCES = {
    "Topic": ResourceType.TOPIC,
    "Group": ResourceType.GROUP,
    "TransactionalId": ResourceType.TRANSACTIONAL_ID,
}


def names_in(scenario: Scenario) -> dict[str, str]:
    """What a scenario gives to the placeholders of the page."""
    roles = {"input.topic": "input", "output.topic": "results", "dead_letter.topic": "dead"}
    return {key: scenario.name(role) for key, role in roles.items()} | {"kafka.group_id": scenario.group}


def prepare(scenario: Scenario, user: User, **settings: str) -> None:
    """One partition of each topic, and replicas that say that they are this user."""
    every: dict[str, Any] = {**user.settings, **settings}
    scenario.prepare({"input": 1, "results": 1, "dead": 1}, **every)


def documented(guarantee: str, names: Mapping[str, str]) -> list[Grant]:
    """The lines of the page for this guarantee. `names`: what stands for `<input.topic>` and the like."""
    rows = _ROW.findall(PAGE.read_text())
    return [
        Grant(
            _RESOURCES[resource],
            re.sub("<(.*)>", lambda placeholder: names[placeholder[1]], name),
            ResourcePatternType[pattern.upper()],
            AclOperation[operation],
        )
        for which, resource, name, pattern, operation in rows
        if which in ("either guarantee", guarantee)
    ]
