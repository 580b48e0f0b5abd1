"""Every hostile payload through the real service: alone in its trouble, and cheap."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256

import jsonschema
import msgspec
import pytest

from consumer.records import Reason
from tests.hostile.corpus import corpus
from tests.hostile.payload import SECRET, Hostile
from tests.kafka.cluster import AnyCluster
from tests.kafka.hostile_run import Answer, HostileRun, Told
from tests.kafka.replicas import ROOT
from tests.kafka.topics import Topics
from tests.report import LINES

FORMATS = ("auto", "json", "text")
DEAREST = 100.0
"""CPU time that a hostile record may take on average, in that of a short good one. The corpus has 90 KB a
record, a good one 70 bytes."""

_TOLERANCE = 1e-3  # device batches are packed otherwise: sums in another order
_RESULT = jsonschema.Draft202012Validator(
    msgspec.json.decode((ROOT / "schemas" / "result.schema.json").read_bytes())
)


@pytest.fixture(scope="module")
def runs(
    cluster: AnyCluster, topics: Topics, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Told]]:
    """By input.format, each payload under the one that it is made for."""
    runs: dict[str, HostileRun] = {}
    try:
        for form in FORMATS:
            runs[form] = HostileRun(cluster, topics, tmp_path_factory.mktemp(form), form)
        yield {form: run.play([h for h in corpus() if h.format == form]) for form, run in runs.items()}
    finally:
        for run in runs.values():
            run.end()


@pytest.mark.torch
def test_each_hostile_payload_stands_alone_and_its_neighbours_get_the_scores_they_get_without_it(
    runs: dict[str, Told],
) -> None:
    wrong = [line for told in runs.values() for line in _not_isolated(told)]
    unscored = [line for told in runs.values() for line in _not_scored(told)]
    hostile, neighbours = _count(runs, "hostile"), _count(runs, "neighbours")
    LINES.append(
        f"hostile payloads: {hostile - len(wrong)} of {hostile} isolated, "
        f"{neighbours - len(unscored)} of {neighbours} neighbours scored"
    )
    assert not wrong, "\n".join(wrong[:20])
    assert not unscored, "\n".join(unscored[:20])
    assert hostile == len(corpus())


@pytest.mark.torch
def test_the_counters_add_up_to_what_was_sent(runs: dict[str, Told]) -> None:
    for told in runs.values():
        sent = len(told.calm) + len(told.neighbours) + len(told.hostile)
        assert told.counted("consumer_records_polled_total") == sent
        assert told.counted("consumer_records_total") == sent
        # what the codec refuses; a result that cannot be published is known to the sink alone
        codec = Counter(
            h.outcome for h in told.hostile.values() if h.is_rejected and h.outcome != Reason.UNPUBLISHABLE
        )
        assert codec == {reason: told.counted(_letters(reason)) for reason in codec}


@pytest.mark.torch
def test_the_log_of_the_service_holds_no_payload_and_nothing_that_a_terminal_obeys(
    runs: dict[str, Told],
) -> None:
    for told in runs.values():
        assert SECRET not in told.log
        unsafe = [line for line in told.log.split("\n") if not line.isprintable()]
        assert not unsafe


@pytest.mark.torch
def test_a_hostile_record_costs_a_bounded_multiple_of_a_good_one(runs: dict[str, Told]) -> None:
    told = runs["auto"]
    per_good = 1e3 * told.cpu_calm / len(told.calm)
    LINES.append(
        f"hostile payloads: {told.cost():.1f} times the CPU time of a good record on average "
        f"({told.cpu_hostile:.1f} s with {len(told.hostile)} of them, {per_good:.1f} ms for a good record)"
    )
    assert told.cost() < DEAREST


def _letters(reason: str) -> str:
    return f'consumer_dead_letters_total{{reason="{reason}"}}'


def _count(runs: dict[str, Told], what: str) -> int:
    return sum(len(getattr(told, what)) for told in runs.values())


def _not_isolated(told: Told) -> Iterator[str]:
    """What became of a hostile payload, where it is not exactly what was promised."""
    for place, hostile in told.hostile.items():
        answers = told.answers.get(place, ())
        faults = [f"{len(answers)} answers"] if len(answers) != 1 else list(_faults(hostile, answers[0]))
        if faults:
            yield f"{hostile.name}: {'; '.join(faults)}"


def _faults(hostile: Hostile, answer: Answer) -> Iterator[str]:
    if answer.outcome != hostile.outcome:
        yield f"{answer.outcome} ({answer.detail}), not {hostile.outcome}"
    elif hostile.detail not in answer.detail:
        yield f"{answer.detail!r} does not say {hostile.detail!r}"
    elif hostile.is_rejected:
        yield from _altered(hostile, answer)
    else:
        yield from _invalid(answer)


def _invalid(answer: Answer) -> Iterator[str]:
    """Why a result cannot be used."""
    result = msgspec.json.decode(answer.message.value() or b"")
    yield from (error.message[:200] for error in _RESULT.iter_errors(result))
    if answer.outcome == "scored" and not (answer.score is not None and math.isfinite(answer.score)):
        yield f"the score is {answer.score}"


def _altered(hostile: Hostile, answer: Answer) -> Iterator[str]:
    """What of a dead letter is neither as it came nor told to be cut, with its size and hash."""
    for part, original, kept in (
        ("key", hostile.key, answer.message.key()),
        ("value", hostile.value, answer.message.value()),
    ):
        cut = answer.context[f"consumer.{part}.cut"] == b"true"
        is_kept = original is not None and original.startswith(kept or b"") if cut else original == kept
        if not is_kept or answer.context[f"consumer.{part}.sha256"] != _digest(original):
            yield f"its {part} is another"
    if answer.context["consumer.headers.cut"] == b"false":
        brought = hostile.record().headers or ()
        if tuple(answer.message.headers() or ())[: len(brought)] != brought:
            yield "its headers are others"


def _digest(data: bytes | None) -> bytes | None:
    return None if data is None else sha256(data).hexdigest().encode()


def _not_scored(told: Told) -> Iterator[str]:
    """Neighbours of hostile payloads that did not get the score which their text got in calm."""
    expected = {value: told.answers[place][0].score for place, value in told.calm.items()}
    for place, value in told.neighbours.items():
        scores = [answer.score for answer in told.answers.get(place, ())]
        if scores != [pytest.approx(expected[value], abs=_TOLERANCE)]:
            yield f"{value!r} got {scores} beside a hostile payload and {expected[value]} in calm"
