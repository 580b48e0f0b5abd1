"""The command as it ships, bundled model included: nothing of the run stands in for anything."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import msgspec
import pytest

from tests.kafka.checker import check
from tests.kafka.figures import tell
from tests.kafka.items import mixed
from tests.kafka.offline import scores_in_a_file
from tests.kafka.replicas import ROOT, SERVICE
from tests.kafka.scenario import Scenario

_TOLERANCE = 1e-3  # the packing of device batches may differ: sums in another order


@pytest.mark.torch
def test_results_on_the_topic_are_valid_and_equal_to_those_of_scoring_the_same_in_a_file(
    scenario: Scenario, tmp_path: Path
) -> None:
    scenario.prepare({"input": 3}, scoring__model="demo", scoring__threads=1)
    items = [item for item in mixed(300, seed=51, every=20) if item.expected != "poison"]
    scenario.feed(items).finish()
    replica = scenario.start("real", "--stop-at-end", program=SERVICE)
    assert replica.wait(300) == 0, replica.log[-3000:]
    history = scenario.history()
    tell("the bundled model", history)
    assert not check(history)
    results = [msgspec.json.decode(m.value() or b"") for m in scenario.results()]
    schema = msgspec.json.decode((ROOT / "schemas" / "result.schema.json").read_bytes())
    validator = jsonschema.Draft202012Validator(schema)
    for result in results:
        validator.validate(result)
    on_the_topic = {r["message"]: r["score"] for r in results if r["outcome"] == "scored"}
    assert len({msgspec.json.encode(r["model"]) for r in results}) == 1
    in_a_file = scores_in_a_file(
        tmp_path / "events", [i.value or b"" for i in items if i.expected == "scored"]
    )
    assert on_the_topic == pytest.approx(in_a_file, abs=_TOLERANCE)
