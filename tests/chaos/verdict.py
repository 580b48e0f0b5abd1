"""What a trial showed: a line for each invariant with what it looked at, and whether it proves anything.

A trial that lost nothing proves nothing when nothing happened: without each fault having hit somebody,
without a duplicate (at least once) or an aborted record (exactly once) it is inconclusive, which counts as
a failure.
"""

from __future__ import annotations

import math
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tests.chaos.fleet import Exit
from tests.chaos.outcome import Outcome
from tests.chaos.transactions import aborted_records, torn_transactions, transactions
from tests.kafka.checker import RULES, first_few, wrong_scores
from tests.kafka.commits import stale_reads
from tests.kafka.history import SCORED, TWIN, Action, History, count_between
from tests.kafka.items import expected_scores
from tests.kafka.text_scorer import VERSION

Scores = Mapping[tuple[int, int], float]
"""By input record."""

_TOLERANCE = 1e-3  # of the bundled model: the packing of device batches may differ, sums in another order


class Line(NamedTuple):
    """`looked`: at how much of what; `violations`: the first few."""

    rule: str
    title: str
    looked: str
    violations: Sequence[str]

    def __str__(self) -> str:
        told = "".join(f"\n         {violation}" for violation in self.violations)
        return (
            f"{self.rule:>4} {'FAILED' if self.violations else 'holds':<7}{self.title}: {self.looked}{told}"
        )


class Verdict(NamedTuple):
    """`inconclusive`: why the trial proves nothing, if it does not."""

    lines: Sequence[Line]
    inconclusive: Sequence[str]

    @property
    def passed(self) -> bool:
        return not self.inconclusive and not any(line.violations for line in self.lines)


def judge(outcome: Outcome, again: Scores) -> Verdict:
    """`again`: scores that the bundled model gives to some of its texts once more."""
    lines = [*_by_history(outcome.history), _torn(outcome), _scored(outcome, again), *_by_the_rig(outcome)]
    return Verdict(sorted(lines, key=lambda line: int(line.rule[1:])), list(_inconclusive(outcome)))


# ---------------------------------------------------------------- what the checker judges


def _by_history(history: History) -> Iterator[Line]:
    for rule, judged in RULES.items():
        title, looked = _TITLES[rule]
        yield Line(rule, title, looked(history), first_few(judged(history)))


def _below_final_commits(history: History) -> str:
    final = history.samples[-1].committed if history.samples else {}
    below = sum(count_between(offsets, 0, final.get(p, 0)) for p, offsets in history.inputs().items())
    return f"{below:,} of {len(history.sent):,} records lie below the final commits"


def _duplicates(history: History) -> str:
    kinds = Counter(h.action for h in history.causes())
    told = ", ".join(f"{count} {action}" for action, count in kinds.items()) or "nothing"
    return f"{history.duplicates():,} duplicates, {history.bound():,} allowed after {told}"


def _equality(history: History) -> str:
    done = len({w.source for w in history.written})
    return f"{len(history.sent):,} records sent, {done:,} have {len(history.written):,} output records"


def _commits(history: History) -> str:
    return f"{len(history.of(Action.COMMITTED)):,} accepted commits"


def _outcomes(history: History) -> str:
    counts = Counter(w.outcome for w in history.written)
    return ", ".join(f"{count:,} {outcome}" for outcome, count in counts.most_common())


def _dead_letters(history: History) -> str:
    return f"{sum(w.outcome not in {*SCORED, 'empty'} for w in history.written):,} dead letters"


def _twins(history: History) -> str:
    events = len({s.value for s in history.sent if s.expected == TWIN})
    suppressed = sum(w.outcome == "duplicate" for w in history.written)
    return f"{events:,} events came twice, {suppressed:,} records were called duplicates"


_TITLES: Mapping[str, tuple[str, Callable[[History], str]]] = {
    "I1": ("nothing below a final commit is lost", _below_final_commits),
    "I2": (
        "no commit is ahead of the output",
        lambda h: f"{len(h.samples):,} samples of committed offsets",
    ),
    "I3": (
        "no commit goes back",
        lambda h: f"{len(h.samples):,} samples ({stale_reads(h)} read stale), {_commits(h)}",
    ),
    "I4": ("duplicates stay within the bound", _duplicates),
    "I5": ("every record has its output record", _equality),
    "I6": (
        "results are in input order",
        lambda h: f"{len({(w.topic, w.partition, w.source[0]) for w in h.written})} sequences",
    ),
    "I7": ("nothing comes out that never went in", lambda h: f"{len(h.written):,} output records"),
    "I10": ("no poll skips a record", lambda h: f"{len(h.of(Action.POLLED)):,} polls"),
    "I11": (
        "a partition has one owner",
        lambda h: f"{_commits(h)}, {len(h.of(Action.ASSIGNED)):,} assignments",
    ),
    "I12": ("every record has one classification", _outcomes),
    "I13": ("dead letters keep the record", _dead_letters),
    "I19": ("no event is suppressed for good", _twins),
}

# ---------------------------------------------------------------- what else a trial shows


def _torn(outcome: Outcome) -> Line:
    seen = transactions(outcome.everything, outcome.committed)
    whole = sum(t.visible == t.written for t in seen.values())
    looked = f"{len(seen):,} transactions with results, {whole:,} of them visible"
    return Line("I8", "no transaction is visible in part", looked, first_few(torn_transactions(seen)))


def _scored(outcome: Outcome, again: Scores) -> Line:
    history = outcome.history
    ours = [w for w in history.written if w.outcome == "scored" and w.model == VERSION]
    modelled = [w for w in history.written if w.outcome == "scored" and w.model != VERSION]
    looked = (
        f"{len(ours):,} of the test scorer computed again, {len(modelled):,} of the bundled model finite, "
        f"{len(again):,} of them scored again"
    )
    wrong = [
        *wrong_scores(history._replace(written=ours), expected_scores(history.sent)),
        *wrong_scores(history._replace(written=modelled), again, _TOLERANCE),
        *(
            f"{w.source} has score {w.score}"
            for w in modelled
            if w.score is None or not math.isfinite(w.score)
        ),
    ]
    return Line("I9", "scores are those of the input", looked, first_few(wrong))


def _by_the_rig(outcome: Outcome) -> Iterator[Line]:
    calm = [v.what for v in outcome.found if v.rule == "I24"]
    partitions = f"lag 0, each of {outcome.partitions} partitions owned once"
    yield Line("I24", "the group settles after the storm", partitions, calm)
    strange = [f"{e.name} ended with {e.code}: {e.why}" for e in outcome.exits if _is_strange(e)]
    told = [v.what for v in outcome.found if v.rule != "I24"]
    codes = Counter(e.code for e in outcome.exits)
    looked = ", ".join(f"{count} x exit {code}" for code, count in sorted(codes.items()))
    yield Line("I17", "processes end as they should", looked, first_few([*told, *strange]))


def _is_strange(ended: Exit) -> bool:
    """Killed by us, stopped (before it could listen to signals, too), failed for a named reason or refused to
    start: anything else is a bug."""
    before_it_listened = ended.code == -signal.SIGTERM and not ended.worked
    known = ended.code in {-signal.SIGKILL, 0, 1, 2} or before_it_listened
    return not known or "unexpected error" in ended.why


def _inconclusive(outcome: Outcome) -> Iterator[str]:
    hit = {struck.step.fault.name for struck in outcome.struck if struck.hit}
    missed = {step.fault.name for step in outcome.plan.steps} - hit
    if missed:
        yield f"hit nobody: {', '.join(sorted(missed))}"
    if not any(w.outcome == "duplicate" for w in outcome.history.written):
        yield "no event that came again was called a duplicate"
    if not outcome.taken_back:
        yield "no transaction was aborted in the input"
    if len(outcome.history.samples) < outcome.plan.seconds:
        yield f"only {len(outcome.history.samples)} samples of committed offsets"
    if outcome.plan.exact and not aborted_records(outcome.everything, outcome.committed):
        yield "a read_uncommitted subscriber saw no aborted record"
    if not outcome.plan.exact and not outcome.history.duplicates():
        yield "no record came out twice"
