"""Bad records in the stream become dead letters, keep their place and hold nobody up."""

from __future__ import annotations

from collections import Counter

from tests.kafka.figures import tell
from tests.kafka.items import BAD, mixed
from tests.kafka.scenario import Scenario, assert_sound


def test_every_bad_record_becomes_a_dead_letter_and_its_neighbours_are_scored(scenario: Scenario) -> None:
    scenario.prepare()
    sent = scenario.feed(list(mixed(6_000, seed=11, every=20))).finish()
    replicas = [scenario.start(name, "--stop-at-end") for name in ("one", "two")]
    assert [replica.wait(90) for replica in replicas] == [0, 0]
    history = scenario.history()
    tell("bad records in the stream", history)
    assert_sound(history)
    assert history.duplicates() == 0
    assert Counter(w.outcome for w in history.written) == Counter(s.expected for s in sent)
    assert {w.outcome for w in history.written} == {*BAD, "scored"}
