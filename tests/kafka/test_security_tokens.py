"""Tokens that expire: renewed in time; while nobody gives one: not ready, nothing committed, nothing lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kafka.items import mixed
from tests.kafka.scenario import Scenario, assert_sound
from tests.kafka.secured import Secured, User
from tests.kafka.secured_canaries import assert_hidden, places_of
from tests.kafka.secured_grants import documented, names_in, prepare
from tests.kafka.waiting import eventually

pytest_plugins = ["tests.kafka.secured_fixtures"]

LIFETIME = 15.0
"""Seconds that a token lives, and with it a connection. The client asks for the next token after four fifths
and proves itself anew after nine tenths; with much less these two come too close to each other."""

_DOWN = 'consumer_dependency_up{dependency="brokers"} 0.0'


@pytest.fixture
def user(secured: Secured) -> User:
    return secured.user_with_tokens(LIFETIME)


@pytest.fixture
def holder(secured: Secured, user: User, tmp_path: Path) -> Iterator[Scenario]:
    """A group whose replicas live on tokens of a short life."""
    scenario = Scenario(secured.bootstrap, secured.topics, tmp_path)
    prepare(scenario, user)
    secured.allow(user, documented("at-least-once", names_in(scenario)))
    yield scenario
    scenario.close()


def test_tokens_are_renewed_in_time_and_when_none_is_given_it_waits_for_the_next(
    secured: Secured, user: User, holder: Scenario
) -> None:
    def send(seed: int) -> None:
        holder.feed(list(mixed(40, seed, every=10))).finish()

    def outlive_tokens() -> None:
        """Every token that is out now is of no use when this returns."""
        then = time.monotonic() + LIFETIME
        eventually("all tokens are out of date", lambda: time.monotonic() > then, 60)

    replica = holder.start("holder")
    send(1)
    holder.until_committed()
    outlive_tokens()
    send(2)
    holder.until_committed()
    assert "a dependency fails" not in replica.log, "renewing is no trouble"

    secured.tokens.stop()
    outlive_tokens()
    eventually("the brokers are out of reach", lambda: _DOWN in replica.metrics(), 60)
    send(3)
    assert not replica.ready()
    assert holder.committed() == {0: 80}
    shown = places_of(replica)

    secured.tokens.start()
    holder.until_committed()
    eventually("ready", replica.ready, 60)
    holder.stop(replica)
    assert "Failed to acquire SASL OAUTHBEARER token" in replica.log
    assert_hidden((*user.secrets, *secured.tokens.issued[user.name]), {**shown, "the whole log": replica.log})
    assert_sound(holder.history())
