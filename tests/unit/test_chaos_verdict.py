"""A storm is only passed when it proves something, and each planted fault is told by its line."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from confluent_kafka import Message

from tests.chaos.archive import keep
from tests.chaos.faults import FAULTS, Guarantee
from tests.chaos.fleet import Exit
from tests.chaos.outcome import Outcome, Plan
from tests.chaos.schedule import Step
from tests.chaos.storm import Struck
from tests.chaos.transactions import aborted_records, torn_transactions, transactions
from tests.chaos.verdict import Verdict, judge
from tests.kafka.checker import Violation
from tests.kafka.history import TWIN, Action, Happening, History, Limits, Sample, Sent, Written
from tests.kafka.text_scorer import VERSION, score_of
from tests.kafka.watched_producer import TAG

STEPS = tuple(Step(float(i), fault, 1.0, 0) for i, fault in enumerate(FAULTS[:3]))


class FakeMessage(NamedTuple):
    at: int
    transaction: str | None = None

    def topic(self) -> str:
        return "results"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self.at

    def headers(self) -> list[tuple[str, Any]]:
        return [] if self.transaction is None else [(TAG, self.transaction.encode())]


def messages(*found: tuple[int, str | None]) -> Sequence[Message]:
    return cast(Sequence[Message], [FakeMessage(*each) for each in found])


def history(repeats: int = 1) -> History:
    """Three records scored, the last one `repeats` times, after a kill; one of them is a repeated event."""
    sent = [Sent(0, offset, b"k", b"text %d" % offset, "scored") for offset in range(2)]
    sent += [Sent(0, 2, b"k", b"twin", TWIN), Sent(0, 3, b"k", b"twin", TWIN)]
    order = [*sent, *[sent[-1]] * (repeats - 1)]
    written = [
        Written("results", 0, at, (0, s.offset), f"in|0|{s.offset}", "duplicate", model=VERSION)
        if s.offset == 3
        else Written("results", 0, at, (0, s.offset), f"in|0|{s.offset}", "scored",
                     score_of((s.value or b"").decode()), model=VERSION)
        for at, s in enumerate(order)
    ]  # fmt: skip
    samples = [Sample(float(at), {0: 4}, {("results", 0): 4}) for at in range(10)]
    happenings = [
        Happening(0.0, "a", Action.ASSIGNED, {0: 0}),
        Happening(0.1, "a", Action.POLLED, {0: 0}, {0: 3}, {0: 4}),
        Happening(0.2, "a", Action.KILLED),
    ]
    return History("in", sent, written, samples, happenings, Limits(3, 100, 300))


def outcome(guarantee: Guarantee = Guarantee.AT_LEAST_ONCE, **changes: Any) -> Outcome:
    """A trial that proves what it has to."""
    exact = guarantee is Guarantee.EXACTLY_ONCE
    committed = messages((0, "a-1"), (1, "a-1"), (2, "a-2"))
    hidden = messages((3, "a-3")) if exact else []
    whole = Outcome(
        Plan(1, guarantee, "range", 4, 5.0, STEPS),
        history(repeats=1 if exact else 2)._replace(exact=exact),
        committed,
        [*committed, *hidden],
        [Struck(step, 0.0, 1.0, hit=True) for step in STEPS],
        [Exit("a", -signal.SIGKILL), Exit("b", 0)],
        [],
        taken_back=20,
        partitions=1,
    )
    return whole._replace(**changes)


def failed(verdict: Verdict) -> set[str]:
    return {line.rule for line in verdict.lines if line.violations}


def verdict_of(guarantee: Guarantee = Guarantee.AT_LEAST_ONCE, **changes: Any) -> Verdict:
    return judge(outcome(guarantee, **changes), {})


def test_a_sound_trial_passes_under_each_guarantee_with_a_line_for_every_invariant() -> None:
    for guarantee in Guarantee:
        verdict = verdict_of(guarantee)
        assert (failed(verdict), list(verdict.inconclusive)) == (set(), [])
        assert verdict.passed
        told = {line.rule for line in verdict.lines}
        assert told == {f"I{number}" for number in (*range(1, 14), 17, 19, 24)}


def test_a_fault_that_hit_nobody_makes_a_trial_inconclusive() -> None:
    struck = [Struck(step, 0.0, 1.0, hit=step is not STEPS[1]) for step in STEPS]
    verdict = verdict_of(struck=struck)
    assert not verdict.passed
    assert list(verdict.inconclusive) == [f"hit nobody: {STEPS[1].fault.name}"]


def test_at_least_once_without_a_duplicate_is_inconclusive() -> None:
    assert list(verdict_of(history=history(repeats=1)).inconclusive) == ["no record came out twice"]


def test_exactly_once_without_an_aborted_record_is_inconclusive() -> None:
    seen = outcome(Guarantee.EXACTLY_ONCE).committed
    (why,) = verdict_of(Guarantee.EXACTLY_ONCE, everything=seen).inconclusive
    assert "no aborted record" in why


def test_a_trial_in_which_no_event_was_called_a_duplicate_is_inconclusive() -> None:
    whole = history(repeats=2)
    scored = [w._replace(outcome="scored", score=score_of("twin")) for w in whole.written[3:]]
    verdict = verdict_of(history=whole._replace(written=[*whole.written[:3], *scored]))
    assert failed(verdict) == set()
    assert list(verdict.inconclusive) == ["no event that came again was called a duplicate"]


def test_an_event_of_which_no_record_is_scored_fails() -> None:
    whole = history(repeats=2)
    suppressed = whole.written[2]._replace(outcome="duplicate", score=None)
    changed = whole._replace(written=[*whole.written[:2], suppressed, *whole.written[3:]])
    assert failed(verdict_of(history=changed)) == {"I19"}


def test_a_trial_without_aborted_input_or_with_few_samples_is_inconclusive() -> None:
    few = history(repeats=2)._replace(samples=history().samples[:2])
    verdict = verdict_of(taken_back=0, history=few)
    assert len(verdict.inconclusive) == 2


def test_a_duplicate_under_exactly_once_fails() -> None:
    verdict = verdict_of(Guarantee.EXACTLY_ONCE, history=history(repeats=2)._replace(exact=True))
    assert {"I4", "I6"} <= failed(verdict)


def test_a_transaction_that_is_visible_in_part_fails() -> None:
    everything = messages((0, "a-1"), (1, "a-1"), (2, "a-2"), (3, "a-2"))
    assert failed(verdict_of(Guarantee.EXACTLY_ONCE, everything=everything)) == {"I8"}


def test_a_score_that_is_not_the_one_of_the_text_fails_whichever_model_gave_it() -> None:
    whole = history(repeats=2)
    first, *others = whole.written
    wrong = whole._replace(written=[first._replace(score=9.0), *others])
    assert failed(verdict_of(history=wrong)) == {"I9"}
    modelled = whole._replace(written=[first._replace(model="fitted", score=0.5), *others])
    assert failed(judge(outcome(history=modelled), {(0, 0): 0.5})) == set()
    assert failed(judge(outcome(history=modelled), {(0, 0): 0.6})) == {"I9"}
    not_finite = whole._replace(written=[first._replace(model="fitted", score=float("nan")), *others])
    assert failed(judge(outcome(history=not_finite), {})) == {"I9"}


def test_what_strikes_and_the_calm_found_is_told_by_its_line() -> None:
    found = [Violation("I24", "lag 7"), Violation("I17", "still runs"), Violation("F17", "hangs")]
    verdict = verdict_of(found=found)
    told = {line.rule: list(line.violations) for line in verdict.lines if line.violations}
    assert told == {"I24": ["lag 7"], "I17": ["still runs", "hangs"]}


def test_a_process_that_crashed_or_met_an_unexpected_error_fails() -> None:
    for strange in (Exit("a", -signal.SIGABRT), Exit("a", 1, "stopped by an unexpected error")):
        assert failed(verdict_of(exits=[strange])) == {"I17"}
    for known in (Exit("a", 1, "The device did not finish"), Exit("a", -signal.SIGTERM, worked=False)):
        assert failed(verdict_of(exits=[known])) == set()
    assert failed(verdict_of(exits=[Exit("a", -signal.SIGTERM, worked=True)])) == {"I17"}


def test_transactions_are_told_apart_by_the_name_that_their_records_carry() -> None:
    everything = messages((0, "a-1"), (1, "a-1"), (2, "a-2"), (3, None), (4, "b-1"))
    committed = messages((0, "a-1"), (1, "a-1"), (3, None))
    seen = transactions(everything, committed)
    assert {name: tuple(each) for name, each in seen.items()} == {"a-1": (2, 2), "a-2": (1, 0), "b-1": (1, 0)}
    assert list(torn_transactions(seen)) == []
    assert aborted_records(everything, committed) == 2


def test_what_is_kept_of_a_failed_trial_holds_all_of_it_line_by_line(tmp_path: Path) -> None:
    whole = outcome(Guarantee.EXACTLY_ONCE)
    keep(whole, tmp_path / "history.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "history.jsonl").read_text().splitlines()]
    counts = Counter(kind for kind, _ in lines)
    assert counts["sent"] == len(whole.history.sent)
    assert counts["sample"] == len(whole.history.samples)
    assert counts["happening"] == len(whole.history.happenings)
    assert [value for kind, value in lines if kind == "output"][-1] == ["results", 0, 3, "a-3", False]
    assert {"plan", "struck", "exit", "written"} <= set(counts)
