"""What an audit must be allowed: the list in docs/verify.md is enough, and no line of it is too much."""

from __future__ import annotations

import re
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka.admin import AclOperation, ResourcePatternType, ResourceType

from tests.kafka.audited import Audit, Audited
from tests.kafka.secured import Grant, Secured, User

pytest_plugins = ["tests.kafka.secured_fixtures"]

PAGE = Path(__file__).parents[2] / "docs" / "verify.md"
_ROW = re.compile(r"^\| (Topic|Group) \| `<(.*)>` \| (\w+) \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def world(secured: Secured) -> Audited:
    """Three records of one partition with their results."""
    world = Audited(secured.bootstrap, secured.topics, f"audited-{uuid4().hex[:8]}", (1, 1))
    world.feed(0, 3)
    world.score(0, range(3))
    world.commit(p0=3)
    return world


def documented(world: Audited) -> list[Grant]:
    names = {
        "input.topic": world.input,
        "output.topic": world.results,
        "dead_letter.topic": world.dead,
        "kafka.group_id": world.group,
    }
    return [
        Grant(
            ResourceType[resource.upper()], names[name], ResourcePatternType.LITERAL, AclOperation[operation]
        )
        for resource, name, operation in _ROW.findall(PAGE.read_text("utf-8"))
    ]


def audited_by(user: User, world: Audited) -> Audit:
    settings = dict(user.settings)
    door = settings.pop("kafka.bootstrap_servers")
    given = (argument for name, value in settings.items() for argument in ("--set", f"{name}={value}"))
    return world.verify("--bootstrap-servers", door, *given)


def test_the_documented_permissions_are_enough(secured: Secured, world: Audited) -> None:
    user = secured.user_with_password()
    grants = documented(world)
    assert len(grants) == 4
    secured.allow(user, grants)
    audit = audited_by(user, world)
    assert (audit.code, audit.found(), audit.sum("records")) == (0, {}, 3), audit
    assert len(audit.report["notes"]) == 3, "whether a topic is compacted may not be asked"


@pytest.mark.parametrize("missing", range(4))
def test_without_one_of_them_it_says_which_and_audits_nothing(
    secured: Secured, world: Audited, missing: int
) -> None:
    user = secured.user_with_password()
    grants = documented(world)
    secured.allow(user, [grant for grant in grants if grant is not grants[missing]])
    audit = audited_by(user, world)
    assert (audit.code, len(audit.errors.splitlines())) == (2, 1), audit
    assert grants[missing].name in audit.errors
    assert not any(secret in audit.errors for secret in user.secrets)
