"""What we may: the list in docs/security.md is enough, no line is too much, losing one loses no record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from tests.kafka.items import mixed
from tests.kafka.replicas import Deployment, Replica
from tests.kafka.scenario import Scenario, assert_sound
from tests.kafka.secured import Grant, Secured, User
from tests.kafka.secured_canaries import assert_hidden, places_of
from tests.kafka.secured_grants import documented, names_in, prepare
from tests.kafka.waiting import eventually

pytest_plugins = ["tests.kafka.secured_fixtures"]

AT_LEAST_ONCE, EXACTLY_ONCE = "at-least-once", "exactly-once"
NAMES = {
    "input.topic": "acl-input",
    "output.topic": "acl-results",
    "dead_letter.topic": "acl-dead",
    "kafka.group_id": "acl-group",
}
# What the one line begins with when a permission is missing, and what it says must be allowed.
TOLD = {
    "acl-input": ("input.topic = 'acl-input'", "--operation READ --topic acl-input"),
    "acl-results": ("output.topic = 'acl-results'", "--operation WRITE --topic acl-results"),
    "acl-dead": ("dead_letter.topic = 'acl-dead'", "--operation WRITE --topic acl-dead"),
    "acl-group": ("kafka.group_id = 'acl-group'", "--operation READ --group acl-group"),
    "acl-group-": ("processing.guarantee = 'exactly-once'", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
}


def test_the_documented_list_creates_alters_and_deletes_nothing() -> None:
    grants = documented(EXACTLY_ONCE, NAMES)
    assert {grant.name for grant in grants} == TOLD.keys()
    assert {grant.operation for grant in grants} == {AclOperation.READ, AclOperation.WRITE}
    assert len(documented(AT_LEAST_ONCE, NAMES)) == len(grants) - 1


def test_without_any_one_line_of_the_list_the_start_names_what_is_missing(
    secured: Secured, tmp_path: Path
) -> None:
    topics = {key: name for key, name in NAMES.items() if key.endswith("topic")}
    for topic in topics.values():
        secured.topics.create(topic)
    starts = []
    for guarantee in (AT_LEAST_ONCE, EXACTLY_ONCE):
        grants = documented(guarantee, NAMES)
        for missing in grants:
            user = secured.user_with_password()
            secured.allow(user, [grant for grant in grants if grant is not missing])
            settings = {**user.settings, "processing.guarantee": guarantee}
            deployment = Deployment(tmp_path, secured.sasl, NAMES["kafka.group_id"], topics, settings)
            starts.append((missing, deployment.start(user.name, "--set", "metrics.port=0")))
    try:
        for missing, replica in starts:
            assert replica.wait(120) == 2, f"{missing}\n{replica.log}"
            told, remedy = TOLD[missing.name]
            (problem,) = [line for line in replica.log.splitlines() if not line.startswith("{")]
            assert problem.startswith(told)
            assert remedy in problem
    finally:
        for _, replica in starts:
            replica.end()


class Case(NamedTuple):
    """One user's work, and the line of the list that is taken away meanwhile."""

    guarantee: str
    user: User
    taken: Grant
    scenario: Scenario
    replica: Replica

    @property
    def what(self) -> str:
        return f"{self.guarantee}, {self.taken.operation.name} {self.taken.name}"

    @property
    def is_of_the_input(self) -> bool:
        return self.taken.resource is ResourceType.TOPIC and self.taken.operation is AclOperation.READ

    def next_records(self, seed: int) -> None:
        self.scenario.feed(list(mixed(40, seed, every=10))).finish()

    def committed(self) -> int:
        return self.scenario.committed().get(0, 0)

    def finish(self) -> None:
        """Nothing was lost, nothing committed before it was written, and no secret shown."""
        self.scenario.until_committed()
        eventually(f"{self.what}: ready", self.replica.ready, 60)
        shown = places_of(self.replica)
        self.scenario.stop(self.replica)
        assert_hidden(self.user.secrets, {**shown, "the whole log": self.replica.log})
        assert_sound(self.scenario.history())


def _begin(secured: Secured, home: Path, guarantee: str, line: int) -> Case:
    """A replica with the documented list that has committed its first records."""
    home.mkdir()
    user = secured.user_with_password()
    scenario = Scenario(secured.bootstrap, secured.topics, home)
    prepare(scenario, user, processing__guarantee=guarantee)
    grants = documented(guarantee, names_in(scenario))
    secured.allow(user, grants)
    return Case(guarantee, user, grants[line], scenario, scenario.start("replica"))


@pytest.fixture
def cases(secured: Secured, tmp_path: Path) -> Iterator[list[Case]]:
    lines = [(g, n) for g in (AT_LEAST_ONCE, EXACTLY_ONCE) for n in range(len(documented(g, NAMES)))]
    begun: list[Case] = []
    try:
        for guarantee, line in lines:
            begun += [_begin(secured, tmp_path / f"{guarantee}-{line}", guarantee, line)]
        yield begun
    finally:
        for case in begun:
            case.scenario.close()


def _survives(case: Case) -> bool:
    """The client's transactional producer does not outlive a refused write: its process starts again."""
    writes = case.taken.operation is AclOperation.WRITE
    return case.guarantee == AT_LEAST_ONCE or not writes


def test_a_permission_that_is_revoked_while_it_works_stops_the_commits_and_nothing_is_lost(
    secured: Secured, cases: list[Case]
) -> None:
    for case in cases:
        case.next_records(seed=1)
    for case in cases:
        eventually(f"{case.what}: works", lambda case=case: case.committed() == 40, 120)  # type: ignore[misc]
        secured.revoke(case.user, [case.taken])
    for case in cases:
        if case.is_of_the_input:  # noticed even when there is nothing to read
            eventually(f"{case.what}: noticed", lambda case=case: not case.replica.ready(), 60)  # type: ignore[misc]
        case.next_records(seed=2)
    for case in cases:
        _await_trouble(case)
    assert [case.what for case in cases if case.committed() != 40] == []
    for case in cases:
        secured.allow(case.user, [case.taken])
    again = [case if _survives(case) else _restarted(case) for case in cases]
    for case in again:
        case.finish()


def _await_trouble(case: Case) -> None:
    if _survives(case):
        eventually(f"{case.what}: not ready", lambda: not case.replica.ready(), 60)
        assert case.replica.running, case.replica.log
        assert "AUTHORIZATION_FAILED" in case.replica.log
    else:
        assert case.replica.wait(60) == 1, case.replica.log
        assert "authorization failed" in case.replica.log


def _restarted(case: Case) -> Case:
    """What a supervisor does."""
    return case._replace(replica=case.scenario.start("successor"))
